"""Files, folders and units of a lake as tables with a line for each, to be ranked and told apart."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from distmom.estimators.describe.suspects import UnitFacts
from distmom.lake.keys.keyvalues import decode_key
from distmom.reductions.state import NANS, NULLS

if TYPE_CHECKING:
    from distmom.estimators.describe.plan import DescribePlan
    from distmom.reductions.file_facts import FileFacts
    from distmom.reductions.profile import ProfileState


@dataclass(frozen=True)
class UnitTable:
    """Units of one kind: their names, their rows, and the facts of each column with values.

    Attributes
    ----------
    kind : {"file", "folder", "unit"}
    names : tuple of str
    facts : tuple of UnitFacts
        Of the columns with values, in their order.
    """

    kind: str
    names: tuple[str, ...]
    facts: tuple[UnitFacts, ...]


def unit_tables(plan: DescribePlan, state: ProfileState) -> list[UnitTable]:
    """The tables that can be made: files, hive folders if there are several, units if they were asked for.

    Files without rows that passed the filter are left out.
    """
    facts = state.facts.take(np.flatnonzero(state.facts.n_rows))
    names = tuple(plan.naming.names[i] for i in facts.number.tolist())
    tables = [UnitTable("folder" if plan.naming.folders else "file", names, _of_files(facts))]
    folders = [name if plan.naming.folders else posixpath.dirname(name) for name in names]
    distinct = list(dict.fromkeys(folders))
    if not plan.naming.folders and 1 < len(distinct) < len(names):
        place = {name: i for i, name in enumerate(distinct)}
        places = np.array([place[name] for name in folders], np.int64)
        tables.append(UnitTable("folder", tuple(distinct), _of_files(facts.over(places, len(distinct)))))
    if state.units is not None:
        tables.append(_of_units(plan, state))
    return tables


def _of_files(facts: FileFacts) -> tuple[UnitFacts, ...]:
    return tuple(
        UnitFacts(
            facts.n_rows,
            facts.moments.count[c],
            facts.moments.mean[c],
            facts.moments.at(c).row_variance,
            facts.low[c],
            facts.high[c],
        )
        for c in range(facts.moments.count.shape[0])
    )


def _of_units(plan: DescribePlan, state: ProfileState) -> UnitTable:
    units = state.units
    assert units is not None
    names = []
    for key in units.keys:
        values = zip(plan.by, decode_key(key), strict=True)
        names.append(", ".join(f"{name}={'null' if v is None else v}" for name, v in values))
    facts = []
    for c in range(units.moments.count.shape[0]):
        moments = units.moments.at((c, slice(None), 0))
        missing = units.counts[c, :, NULLS] + units.counts[c, :, NANS]
        n_used = moments.count
        facts.append(UnitFacts(n_used + missing, n_used, moments.mean, moments.row_variance))
    return UnitTable("unit", tuple(names), tuple(facts))
