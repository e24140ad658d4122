"""Tables of files, folders and units, one line each: for naming and for ranking by contribution."""

from __future__ import annotations

import math
import posixpath
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from distmom.estimators.describe.suspects import UnitFacts
from distmom.lake.keys.keyvalues import decode_key
from distmom.reductions.file_facts import FileFacts
from distmom.reductions.profile import ProfileState
from distmom.reductions.state import NANS, NULLS
from distmom.report import DiscrepancySource

if TYPE_CHECKING:
    from distmom.estimators.describe.question import DescribePlan

NEARLY_ALL = 0.99
"""Units are listed until they explain this share of the discrepancy of the sample mean."""

MOST = 20


@dataclass(frozen=True)
class UnitTable:
    """Units of one kind: names, rows, and the facts of each column with values."""

    kind: str
    names: tuple[str, ...]
    facts: tuple[UnitFacts, ...]  # of the columns with values, in their order


def unit_tables(plan: DescribePlan, state: ProfileState) -> list[UnitTable]:
    """The available tables: files, hive folders if there are several, and units if requested.

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


def discrepancy_sources(tables: list[UnitTable], c: int, robust_mean: float) -> tuple[DiscrepancySource, ...]:
    """Units of each table by decreasing contribution, until nearly all of the discrepancy is explained."""
    return tuple(source for table in tables for source in _sources_of(table, c, robust_mean))


def contributions(facts: UnitFacts, robust_mean: float) -> np.ndarray:
    """n_f/n (mean_f - robust mean) of each unit: the sum is the sample mean minus the robust one."""
    with np.errstate(invalid="ignore", over="ignore"):
        added = facts.n_used / facts.n_used.sum() * (facts.mean - robust_mean)
    return np.where(facts.n_used > 0, added, 0.0)


def _sources_of(table: UnitTable, c: int, robust_mean: float) -> list[DiscrepancySource]:
    facts = table.facts[c]
    if len(table.names) < 2:
        return []
    added = contributions(facts, robust_mean)
    gap = math.fsum(added.tolist()) if np.isfinite(added).all() else math.nan
    toward = -added if gap < 0.0 else added
    # infinite means, and NaN if both signs occur, come first
    order = np.argsort(-np.where(np.isfinite(added), toward, np.inf), kind="stable")
    found, told = [], 0.0
    for unit in order[:MOST].tolist():
        share = None if not math.isfinite(gap) or gap == 0.0 else float(added[unit] / gap)
        if (share is None and math.isfinite(added[unit])) or (share is not None and share <= 0.0):
            break
        found.append(
            DiscrepancySource(
                *(table.kind, table.names[unit], int(facts.n_used[unit]), float(facts.mean[unit])),
                *(float(added[unit]), share),
            )
        )
        told += share or 0.0
        if told >= NEARLY_ALL:
            break
    return found
