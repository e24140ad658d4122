"""Estimates and tests of all columns put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from distmom.estimators.compare.options import Compared
from distmom.estimators.compare.permuted import Tested
from distmom.estimators.samples import Sample
from distmom.report import CompareResult, UStatisticResult

MAY_BE_EQUAL = (
    "the samples may have the same distribution: the statistic is then degenerate, and no interval "
    "covers it; use p_value"
)
INFINITE = "there are infinite values among the rows of the test; filter them out, or use statistics='auc'"
TOO_LARGE = "the values are too large for this statistic; divide them by a constant, or use statistics='auc'"
TOO_FEW = "a sample has fewer than two rows in the test; give more rows, or smaller units"


def compared(
    found: UStatisticResult,
    statistic: Compared,
    samples: Sequence[Sample],
    tested: Tested,
    place: int,
    n_permutations: int,
) -> CompareResult:
    """The result of one statistic, not yet adjusted for the others."""
    p = tested.p_values[place]
    own = {field.name: getattr(found, field.name) for field in fields(UStatisticResult)}
    own["samples"] = tuple(one.label for one in samples)
    return CompareResult(
        **own,
        compared_by=statistic.name,
        p_value=p,
        p_reason=None if p is not None else _reason(tested),
        n_permutations=n_permutations,
        n_test_rows=tested.n_rows,
        n_test_units=tested.n_units,
        smallest_p=tested.smallest,
        bandwidth=statistic.bandwidth if statistic.name.startswith("mmd") else None,
    )


def _reason(tested: Tested) -> str:
    if min(tested.n_rows) < 2:
        return TOO_FEW
    return TOO_LARGE if tested.finite else INFINITE


def adjusted(results: Sequence[CompareResult]) -> list[CompareResult]:
    """Results with adjusted p-values; intervals of degenerate statistics stay where the samples differ."""
    told, n_tests = [], sum(r.p_value is not None for r in results)
    for one, p in zip(results, holm([r.p_value for r in results]), strict=True):
        new = replace(one, p_holm=p)
        changes: dict[str, Any] = {}
        if one.interval is not None and not new.drifted and one.kernel in ("energy", "mmd"):
            changes |= {"interval": None, "interval_reason": MAY_BE_EQUAL, "actual_level": None}
        reachable = one.smallest_p is not None and n_tests * one.smallest_p <= 1.0 - one.confidence_level
        if one.p_value is not None and not reachable:
            changes["notes"] = (*one.notes, _unreachable(one, n_tests))
        told.append(replace(new, **changes))
    return told


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's adjustment: if one distribution holds everywhere, P(any of them <= p) <= p."""
    order = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    found: list[float | None] = [None] * len(p_values)
    worst = 0.0
    for rank, (p, i) in enumerate(order):
        worst = max(worst, min(1.0, (len(order) - rank) * p))
        found[i] = worst
    return found


def _unreachable(result: CompareResult, n_tests: int) -> str:
    n_units = " and ".join(str(n) for n in result.n_test_units)
    level = 1.0 - result.confidence_level
    smallest = n_tests * (result.smallest_p or 0.0)
    return (
        f"with {n_units} units and {result.n_permutations:,} permutations no Holm-adjusted p-value is below "
        f"{smallest:.2g}, so none can reach {level:.2g}; give more units, or permutations"
    )
