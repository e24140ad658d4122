"""Whose rows carry the gap between the plain and the robust mean."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from distmom.report import GapSource

if TYPE_CHECKING:
    from distmom.estimators.describe.suspects import UnitFacts
    from distmom.estimators.describe.unit_tables import UnitTable

NEARLY_ALL = 0.99
"""Units are listed until so much of the gap is told."""

MOST = 20


def gap_sources(tables: list[UnitTable], c: int, robust_mean: float) -> tuple[GapSource, ...]:
    """Units of each table in falling order of what they add to the gap, until nearly all of it is told."""
    return tuple(source for table in tables for source in _of_table(table, c, robust_mean))


def contributions(facts: UnitFacts, robust_mean: float) -> np.ndarray:
    """n_f/n (mean_f - robust mean) of each unit: the sum is the plain mean minus the robust one."""
    with np.errstate(invalid="ignore", over="ignore"):
        added = facts.n_used / facts.n_used.sum() * (facts.mean - robust_mean)
    return np.where(facts.n_used > 0, added, 0.0)


def _of_table(table: UnitTable, c: int, robust_mean: float) -> list[GapSource]:
    facts = table.facts[c]
    if len(table.names) < 2:
        return []
    added = contributions(facts, robust_mean)
    gap = math.fsum(added.tolist()) if np.isfinite(added).all() else math.nan
    toward = -added if gap < 0.0 else added
    # infinite means, also NaN where both signs met, come first
    order = np.argsort(-np.where(np.isfinite(added), toward, np.inf), kind="stable")
    found, told = [], 0.0
    for unit in order[:MOST].tolist():
        share = None if not math.isfinite(gap) or gap == 0.0 else float(added[unit] / gap)
        if (share is None and math.isfinite(added[unit])) or (share is not None and share <= 0.0):
            break
        found.append(
            GapSource(
                table.kind,
                table.names[unit],
                int(facts.n_used[unit]),
                float(facts.mean[unit]),
                float(added[unit]),
                share,
            )
        )
        told += share or 0.0
        if told >= NEARLY_ALL:
            break
    return found
