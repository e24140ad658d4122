"""Planning without data: how many blocks, how wide an interval, how many rows, at which price."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from distmom.checks import check_count, check_fraction, whole
from distmom.errors import ConfigError
from distmom.estimators.mean.contamination import outlying_number
from distmom.estimators.options import MeanOptions
from distmom.estimators.planning.pair_ways import PairPlanner, plan_kernel
from distmom.estimators.planning.ways import (
    automatic_way,
    contaminated_way,
    paper_way,
    partition_way,
    possible_ways,
    repeated_way,
    sampled_way,
)
from distmom.estimators.ustat.options import PAIR_BUDGET
from distmom.estimators.versions import versions
from distmom.numerics.kernels.kernel import Kernel
from distmom.numerics.kernels.named import named
from distmom.report.kinds.plan import PlannedWay, PlanResult

REPEATS = 5
"""Random partitions to compare with."""

SCATTERED = 0.69
"""Share of the fine blocks: wild rows at random places that dirty half of them, log 2."""


def plan(
    n_rows: int | float,
    *,
    confidence_level: float = 0.99,
    contamination: int | float | None = None,
    n_blocks: int | None = None,
    tau: float = 0.45,
    width: float | None = None,
    kernel: str | Kernel | None = None,
    pair_budget: int | float = PAIR_BUDGET,
) -> PlanResult:
    """Ways to take a robust mean of that many rows, side by side, and which one to take.

    Nothing is read: widths are in standard deviations of a row, for independent rows of finite variance.

    Parameters
    ----------
    n_rows : int
        Number of rows (of units, if whole units are to be blocks); ``1e9`` is taken as a whole number.
    confidence_level : float
        In (0, 1).
    contamination : int or float, optional
        Rows (or units) that may be arbitrary: their number, or a share of them in (0, 1/2).
    n_blocks : int, optional
        Show a partition into that many blocks, too.
    tau : float
        Of `SampledBlocks`, in (0, 1/2): larger means more and smaller blocks, and a better constant.
    width : float, optional
        Half-width wanted, in standard deviations of a row (of the kernel, for kernels): the rows that each
        way needs for it are told.
    kernel : str or Kernel, optional
        Plan for this function of pairs of rows (`distmom.ustatistic`): how many are to be evaluated, for how
        long, and what is affordable. Half-widths are then in its standard deviations. Does not take
        `contamination`.
    pair_budget : int
        Of a kernel: most pairs to evaluate one by one.

    Returns
    -------
    PlanResult
        One `PlannedWay` for each way, ``.recommended`` and ``.why``.

    Raises
    ------
    ConfigError
        An argument is wrong, or no way is possible: the confidence level is out of reach for so few rows,
        or the contamination leaves no finite answer.

    Notes
    -----
    Of a kernel with the variance 1, half of which one row decides, all pairs of B rows have the variance
    1/B + 1/(B (B - 1)), disjoint ones 2/B. Pairs are taken at 8e8 a second and thread, 4e7 where nothing is
    compiled; kernels differ by a factor of three both ways.

    Sampled blocks draw K B = 4 tau^2 n / (9 (1/2 - tau)^2) values: 36 n at tau = 0.45, which no other
    way needs for the same width. Times are of one thread, at 2.5e8 rows a second for reading one float64
    column and 1.5e8 drawn values: measured on one machine, so an order of magnitude on another.

    References
    ----------
    Laforgue, Clémençon & Bertail (2019), On Medians of (Randomized) Pairwise Means, ICML: Propositions 1
    and 2.

    Examples
    --------
    >>> import distmom as dm
    >>> found = dm.plan(10**6, confidence_level=0.99, contamination=10)
    >>> found.recommended.options, found.recommended.n_blocks
    ({'contamination': 10}, 59)
    """
    n = _whole("n_rows", n_rows)
    promise = MeanOptions(contamination=contamination, confidence_level=confidence_level)
    check_fraction("tau", tau, 0.5, "such as 0.45")
    if width is not None:
        check_fraction("width", width, 1e6, "in standard deviations of a row, or of the kernel")
    if n_blocks is not None:
        check_count("n_blocks", n_blocks)
    share_or_count, delta, name = promise.contamination or 0, promise.delta, None
    if kernel is None:
        makers = _makers(delta, share_or_count, n_blocks, tau)
        # where rows are outlying, no other way is an answer to what was asked
        ways, refusals = possible_ways(makers, n, width, must=bool(share_or_count))
        chosen, why = _recommended(ways, n, share_or_count, refusals)
    else:
        if contamination is not None:
            raise ConfigError("contamination: plans for a kernel do not take it; drop it or the kernel")
        made = plan_kernel(named(kernel) if isinstance(kernel, str) else kernel)
        planner = PairPlanner(made, n, delta, _whole("pair_budget", pair_budget), tau)
        name, ways = made.name, planner.ways(n_blocks, width)
        chosen, why = planner.recommended(ways, width)
    outlying = outlying_number(share_or_count, n)
    run = {"seconds": None, "seed": None, "workers": None, "versions": versions()}
    return PlanResult(n, confidence_level, outlying, width, tuple(ways), chosen, why, run, name)


def _makers(
    delta: float, contamination: int | float, n_blocks: int | None, tau: float
) -> list[Callable[[int], PlannedWay]]:
    """How each way is made for a number of rows; with outlying rows first the one for them."""

    def unproved(way: PlannedWay) -> PlannedWay:
        """Without widths where rows are outlying: no bound of this way allows for them."""
        return replace(way, exact=None, paper=None, order=None) if contamination else way

    makers: list[Callable[[int], PlannedWay]] = []
    if contamination:
        makers.append(lambda n: contaminated_way(n, delta, outlying_number(contamination, n)))
    if n_blocks is not None:
        makers.append(lambda n: partition_way(n, delta, n_blocks, outlying_number(contamination, n)))
    return [
        *makers,
        lambda n: unproved(automatic_way(n, delta)),
        lambda n: paper_way(n, delta, outlying_number(contamination, n)),
        lambda n: unproved(repeated_way(n, delta, REPEATS)),
        lambda n: unproved(sampled_way(n, delta, False, tau)),
        lambda n: unproved(sampled_way(n, delta, True, tau)),
    ]


def _recommended(
    ways: list[PlannedWay], n: int, contamination: int | float, refusals: list[ConfigError]
) -> tuple[PlannedWay, str]:
    first = ways[0]
    if contamination and first.options.get("contamination") is not None:
        o = outlying_number(contamination, n)
        return first, (
            f"its interval holds with {o:,} arbitrary rows; more than {2 * o:,} blocks alone would only make "
            "the answer finite"
        )
    for way in ways:
        if not way.options:
            return way, (
                f"one pass, tests itself, and bears {way.survives:,} arbitrary rows (about "
                f"{round(2 * SCATTERED * way.survives):,} scattered ones); give contamination= if you expect "
                "more, RandomBlocks(repeats=5) if more arithmetic costs you less than 20 % of the variance"
            )
    best = min(ways, key=lambda way: math.inf if way.exact is None else way.exact)
    text = f"the narrowest interval of these, at {best.rows_drawn / n:.3g} n drawn values"
    return best, text + (f" ({refusals[0]})" if refusals else "")


def _whole(name: str, value: Any) -> int:
    """A whole number of at least 1, also where it is written as a float such as 1e9."""
    value = whole(value)
    check_count(name, value)
    return int(value)
