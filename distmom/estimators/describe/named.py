"""Files and units that stand out, named with reasons in words, and a second look into the files."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from distmom.estimators.describe.suspects import LEAST_UNITS, SuspectUnit, suspects
from distmom.report import NamedUnit, Reason
from distmom.report.digits import quantity

if TYPE_CHECKING:
    from distmom.estimators.describe.question import DescribePlan
    from distmom.estimators.describe.unit_tables import UnitTable
    from distmom.lake.columns.times import TimeScale


def name_units(
    plan: DescribePlan,
    tables: list[UnitTable],
    samples: dict[str, NDArray[np.float64]],
) -> tuple[list[NamedUnit], str | None]:
    """The named files and units, those with most reasons, then farthest away first; or why there are none.

    `samples` are uniform ones of the used rows of each column.
    """
    named = []
    compared = False
    for table in tables:
        if table.kind == "folder" and not plan.naming.folders:
            continue  # its files are named
        compared = compared or len(table.names) >= LEAST_UNITS
        reasons: dict[int, list[Reason]] = {}
        for c, column in enumerate(plan.columns.measured):
            scale = plan.mean.reader.options.scales.get(column)
            facts = table.facts[c]
            if scale is not None and scale.kind != "duration":
                facts = replace(facts, zero=False)
            for finding in suspects(facts, samples[column]):
                reasons.setdefault(finding.unit, []).append(_reason(column, finding, scale))
        mine = [
            NamedUnit(table.kind, table.names[unit], int(table.facts[0].n_rows[unit]), tuple(found))
            for unit, found in reasons.items()
        ]
        named += sorted(mine, key=lambda unit: (-len(unit.reasons), -_farthest(unit), unit.name))
    if not compared:
        what = "files or units" if plan.by else "files"
        return [], f"fewer than {LEAST_UNITS} {what}: none can be told from the others"
    return named, None


def _reason(column: str, finding: SuspectUnit, scale: TimeScale | None) -> Reason:
    _, what, value, typical, spreads, _ = finding
    finite = spreads if math.isfinite(spreads) else None
    words = _words(finding, scale)
    return Reason(column, what, _number(value), _number(typical), finite, words)


def _farthest(unit: NamedUnit) -> float:
    """Spreads of its most telling reason; some are beyond all number."""
    return max(math.inf if reason.spreads is None else reason.spreads for reason in unit.reasons)


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _words(finding: SuspectUnit, scale: TimeScale | None) -> str:
    _, what, value, typical, spreads, by_spread = finding
    away = f", {spreads:,.0f} spreads away" if math.isfinite(spreads) else ""
    if what == "no values":
        return "no values at all"
    if what == "missing":
        return f"{100 * value:.1f} % missing, usually {100 * typical:.1f} %"
    if what == "mirror":
        return "lopsided to the other side: sign reversed?"
    length = by_spread or what == "narrow"
    one, other = _shown(value, scale, length), _shown(typical, scale, length)
    figure = "standard deviation" if by_spread else "mean"
    return {
        "constant": f"constant {one}, usual mean {other}",
        "scale": f"{figure} {one}, usually {other}: about {_times(value, typical)} times as large; "
        "another unit?",
        "narrow": f"standard deviation {one}, usually {other}: nearly constant",
        "mean": f"mean {one}, usually {other}{away}",
        "sign": f"mean {one}, usually {other}: sign reversed?",
        "range": f"all values {'above' if value > typical else 'below'} the usual mean {other}: shifted?",
    }[what]


def _shown(value: float, scale: TimeScale | None, length: bool) -> str:
    if scale is None:
        return quantity(value)
    from distmom.report.times import readable

    return readable(replace(scale, kind="duration", base=0) if length else scale, value, 0)


def _times(value: float, typical: float) -> str:
    """A ratio to one digit: files differ, so that more would say too much."""
    ratio = abs(value / typical) if typical else math.inf
    return f"{float(f'{ratio:.0e}'):,.0f}" if ratio < 1e9 else f"{ratio:.0e}"
