"""Planning without data: how many blocks, how wide an interval, how many rows, at which price."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from distmom.checks import check_choice, check_count, check_fraction
from distmom.errors import ConfigError
from distmom.estimators.mean.contamination import outlying_number
from distmom.estimators.options import SAMPLING
from distmom.estimators.ustat.options import PAIR_BUDGET
from distmom.estimators.ustat.pair_ways import PairPlanner, plan_kernel
from distmom.estimators.versions import versions
from distmom.numerics.kernels.catalogue import named
from distmom.numerics.kernels.kernel import Kernel
from distmom.report.plan_result import PlannedWay, PlanResult
from distmom.theory import (
    Way,
    automatic_way,
    contaminated_way,
    given_way,
    paper_way,
    repeated_way,
    rows_for_way,
    sampled_way,
)

ROWS_PER_SECOND = 2.5e8
"""Rows of one float64 column that a thread reads and reduces: measured on a two-core machine, warm cache."""

DRAWS_PER_SECOND = 1.5e8
"""Values that a thread adds to samples, beside reading."""

SCATTERED = 0.69
"""Share of the fine blocks: wild rows at random places that dirty half of them, log 2."""


def plan(
    n_rows: int | float,
    *,
    confidence_level: float = 0.99,
    contamination: int | float | None = None,
    scheme: str | None = None,
    n_blocks: int | None = None,
    tau: float = 0.45,
    kappa: float = 0.5,
    repeats: int = 5,
    width: float | None = None,
    threads: int = 1,
    kernel: str | Kernel | None = None,
    pair_budget: int | float = PAIR_BUDGET,
    projection_share: float = 0.5,
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
    scheme : {"partition", "swor", "monte_carlo"}, optional
        Show this scheme alone.
    n_blocks : int, optional
        Show a partition into that many blocks, too.
    tau : float
        Of the sampling schemes, in (0, 1/2): larger means more and smaller blocks, and a better constant.
    kappa : float
        Of the sampling schemes, in (0, 1): share of the failure probability that is left to the sampling
        error of the data; the rest goes to the draw of the blocks.
    repeats : int
        Number of repeated random partitions to compare with.
    width : float, optional
        Half-width wanted, in standard deviations of a row (of the kernel, for kernels): the rows that each
        way needs for it are told. Ways of a kernel are then as cheap as it allows: the most blocks of a
        partition, the fewest rows or pairs of samples.
    threads : int
        Threads, for the times.
    kernel : str or Kernel, optional
        Plan for this function of pairs of rows (`distmom.ustatistic`): how many are to be evaluated, for how
        long, and what is affordable. Half-widths are then in its standard deviations. Takes neither
        `contamination` nor `scheme` and `repeats`.
    pair_budget : int
        Of a kernel: most pairs to evaluate one by one.
    projection_share : float
        Of a kernel: 2 sigma_1^2 / Var h, the share of its variance that one row decides, in (0, 1);
        `UStatisticResult` has both variances. 0.45 for Gini's difference of normal rows.

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
    Of a kernel with the variance 1 and projection share s, all pairs of B rows have the variance 2 s/B +
    2 (1 - s)/(B (B - 1)), disjoint ones 2/B. Pairs are taken at 8e8 a second and thread, 4e7 where nothing is
    compiled; kernels differ by a factor of three both ways.

    A sampling scheme draws K B = 4 tau^2 n / (9 (1/2 - tau)^2) values: 36 n at tau = 0.45, which no other
    way needs for the same width. Times take 2.5e8 rows a second and thread for reading one float64 column,
    and 1.5e8 drawn values: measured on one machine, so an order of magnitude on another.

    References
    ----------
    Laforgue, Clémençon & Bertail (2019), On Medians of (Randomized) Pairwise Means, ICML: Propositions 1
    and 2, and the split kappa of the appendix.

    Examples
    --------
    >>> import distmom as dm
    >>> found = dm.plan(10**6, confidence_level=0.99, contamination=10)
    >>> found.recommended.options, found.recommended.n_blocks
    ({'contamination': 10}, 59)
    """
    n = _whole("n_rows", n_rows)
    check_fraction("confidence_level", confidence_level, 1.0, "such as 0.99")
    check_fraction("tau", tau, 0.5, "such as 0.45")
    check_fraction("kappa", kappa, 1.0, "such as 0.5")
    check_count("repeats", repeats, 2)
    check_count("threads", threads)
    if width is not None:
        check_fraction("width", width, 1e6, "in standard deviations of a row, or of the kernel")
    if kernel is not None:
        other = {"contamination": contamination, "scheme": scheme}
        wrong = [name for name, value in other.items() if value is not None]
        if wrong:
            raise ConfigError(f"{wrong[0]}: plans for a kernel do not take it; drop it or the kernel")
        made = plan_kernel(named(kernel) if isinstance(kernel, str) else kernel)
        budget = _whole("pair_budget", pair_budget)
        check_fraction("projection_share", projection_share, 1.0, "such as 0.5")
        delta = float(f"{1.0 - confidence_level:.12g}")
        planner = PairPlanner(made, n, delta, budget, projection_share, tau, kappa, threads, width)
        return _of_pairs(planner, confidence_level, n_blocks)
    if scheme is not None:
        check_choice("scheme", scheme, ("partition", *SAMPLING))
    if n_blocks is not None:
        check_count("n_blocks", n_blocks)
    share_or_count = _contamination(contamination)
    delta = float(f"{1.0 - confidence_level:.12g}")
    makers = _makers(delta, share_or_count, n_blocks, tau, kappa, repeats)
    ways, refusals = [], []
    for name, make in makers.items():
        if scheme is not None and (name if name in SAMPLING else "partition") != scheme:
            continue
        try:
            way = make(n)
        except ConfigError as error:
            if name == "contaminated":  # no other way is an answer to what was asked
                raise
            refusals.append(f"{name}: {error}")
            continue
        rows = None if width is None else rows_for_way(make, float(width))
        seconds = (n / ROWS_PER_SECOND + (way.rows_drawn - n) / DRAWS_PER_SECOND) / threads
        ways.append(PlannedWay.of(way, rows, max(seconds, n / ROWS_PER_SECOND / threads)))
    if not ways:
        raise ConfigError(refusals[0].partition(": ")[2])
    chosen, why = _recommend(ways, n, share_or_count, refusals)
    return PlanResult(
        n,
        confidence_level,
        outlying_number(share_or_count, n),
        width,
        tuple(ways),
        chosen,
        why,
        _run(),
    )


def _run() -> dict[str, Any]:
    return {"seconds": None, "seed": None, "workers": None, "versions": versions()}


def _of_pairs(planner: PairPlanner, confidence_level: float, n_blocks: int | None) -> PlanResult:
    """Ways to evaluate a kernel."""
    if n_blocks is not None:
        check_count("n_blocks", n_blocks)
    ways = planner.ways(n_blocks)
    chosen, why = planner.recommended(ways)
    return PlanResult(
        planner.n_rows,
        confidence_level,
        0,
        planner.width,
        tuple(ways),
        chosen,
        why,
        _run(),
        planner.kernel.name,
    )


def _makers(
    delta: float,
    contamination: int | float,
    n_blocks: int | None,
    tau: float,
    kappa: float,
    repeats: int,
) -> dict[str, Callable[[int], Way]]:
    """How each way is made for a number of rows."""
    makers: dict[str, Callable[[int], Way]] = {}
    if contamination:
        makers["contaminated"] = lambda n: contaminated_way(n, delta, outlying_number(contamination, n))
    if n_blocks is not None:
        makers["given"] = lambda n: given_way(n, delta, n_blocks, outlying_number(contamination, n))
    makers["automatic"] = lambda n: unproved(automatic_way(n, delta))
    makers["paper"] = lambda n: paper_way(n, delta, outlying_number(contamination, n))
    makers["repeated"] = lambda n: unproved(repeated_way(n, delta, repeats))
    for scheme in SAMPLING:
        makers[scheme] = lambda n, scheme=scheme: unproved(sampled_way(n, delta, scheme, tau, kappa))  # type: ignore[misc]

    def unproved(way: Way) -> Way:
        """Without widths where rows are outlying: no bound of this way allows for them."""
        return replace(way, exact=None, paper=None, order=None) if contamination else way

    return makers


def _recommend(
    ways: list[PlannedWay], n: int, contamination: int | float, refusals: list[str]
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
                "more, repeats= if more arithmetic costs you less than 20 % of the variance"
            )
    best = min(ways, key=lambda way: math.inf if way.exact is None else way.exact)
    drawn = best.rows_drawn / n
    text = f"the narrowest interval of these, at {drawn:.3g} n drawn values"
    return best, text + (f" ({refusals[0]})" if refusals else "")


def _contamination(value: Any) -> int | float:
    if value is None:
        return 0
    if isinstance(value, numbers.Integral):
        check_count("contamination", value, 0)
        return int(value)
    check_fraction("contamination", value, 0.5, "such as 0.01, or be a whole number of rows or units")
    return float(value)


def _whole(name: str, value: Any) -> int:
    """A whole number of at least 1, also where it is written as a float such as 1e9."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    check_count(name, value)
    return int(value)
