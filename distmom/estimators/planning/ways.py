"""Ways to take a robust mean of n rows: blocks, half-widths at one standard deviation of a row, and costs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from distmom.designs.blocks import RandomBlocks, SampledBlocks
from distmom.errors import ConfigError
from distmom.report.kinds.plan import PlannedWay
from distmom.theory.bounds import binomial_p, exact_level
from distmom.theory.intervals import order_rank
from distmom.theory.ladder import ladder_levels
from distmom.theory.paper import mom_blocks, morm_blocks, paper_halfwidth_mom, paper_halfwidth_morm
from distmom.theory.partition import partition_halfwidth
from distmom.theory.planning import best_blocks
from distmom.theory.repeated import repeated_halfwidth
from distmom.theory.resampled import sampled_halfwidth
from distmom.theory.variances import mean_variance

ROWS_OF_FINE_BLOCK = 8
"""A level of the automatic ladder needs at least this many rows a block."""

N_FINE = 945
"""Fine blocks of the automatic rule."""

ROWS_PER_SECOND, DRAWS_PER_SECOND = 2.5e8, 1.5e8
"""Rows of one float64 column that a thread reads and reduces, and values that it adds to samples beside."""


def partition_way(n_rows: int, delta: float, n_blocks: int, outlying: int = 0) -> PlannedWay:
    """A partition into a given number of blocks, of which some may be outlying."""
    if not 2 * outlying < n_blocks <= n_rows:
        raise ConfigError(
            f"blocks: must exceed twice the {outlying} outlying rows and not the {n_rows} rows, "
            f"not {n_blocks}"
        )
    size = n_rows // n_blocks
    options: dict[str, Any] = {"blocks": n_blocks} | ({"contamination": outlying} if outlying else {})
    exact = partition_halfwidth(1.0 / size, n_blocks, delta, outlying)
    order = order_halfwidth(n_rows, n_blocks, delta, outlying)
    name, survives = f"partition, {n_blocks} blocks", (n_blocks - 1) // 2
    return PlannedWay(name, options, n_blocks, size, exact, None, order, survives, n_rows, _seconds(n_rows))


def automatic_way(n_rows: int, delta: float) -> PlannedWay:
    """The default of `distmom.mean`: fine blocks, an answer at a level of their ladder."""
    levels = _automatic_levels(n_rows)
    least = min(63.0, max(9.0, math.sqrt(n_rows) / 4.0))
    k = next((level for level in levels if level >= least), levels[-1])
    k_exact = exact_level(tuple(levels), delta)
    return replace(
        partition_way(n_rows, delta, k),
        name="partition, automatic",
        options={},
        exact=partition_halfwidth(k_exact / n_rows, k_exact, delta),
        survives=(levels[-1] - 1) // 2,
    )


def _automatic_levels(n_rows: int) -> list[int]:
    """Levels of the ladder with enough rows a block."""
    levels = [k for k in ladder_levels(N_FINE) if n_rows >= ROWS_OF_FINE_BLOCK * k]
    if not levels:
        raise ConfigError(
            f"n_rows: the automatic rule needs {5 * ROWS_OF_FINE_BLOCK} rows, not {n_rows}; "
            "give the number of blocks"
        )
    return levels


def contaminated_way(n_rows: int, delta: float, outlying: int) -> PlannedWay:
    """A partition with the odd number of blocks of least half-width for that many outlying rows."""
    way = partition_way(n_rows, delta, best_blocks(n_rows, delta, outlying), outlying)
    name = f"partition, for {outlying} outlying rows"
    return replace(way, name=name, options={"contamination": outlying})


def paper_way(n_rows: int, delta: float, outlying: int = 0) -> PlannedWay:
    """The median of means as the paper prescribes it, whatever rows are outlying."""
    k, _ = mom_blocks(1.0 - delta, n_rows)
    way = replace(partition_way(n_rows, delta, k), name="partition, paper", options={"blocks": "paper"})
    if outlying:
        return replace(way, exact=math.inf, order=None)
    return replace(way, paper=paper_halfwidth_mom(1.0, n_rows, delta))


def repeated_way(n_rows: int, delta: float, repeats: int) -> PlannedWay:
    """Repeated random partitions, each as in the default; the interval at the level where it is least."""
    drawn = repeats * n_rows
    return replace(
        automatic_way(n_rows, delta),
        name=f"{repeats} random partitions",
        options={"blocks": RandomBlocks(repeats=repeats)},
        exact=min(repeated_halfwidth(k / n_rows, k, delta) for k in _automatic_levels(n_rows)),
        order=None,
        rows_drawn=drawn,
        seconds=_seconds(n_rows, drawn),
    )


def sampled_way(n_rows: int, delta: float, replace: bool, tau: float) -> PlannedWay:
    """Independent samples without or with replacement, by the proposition."""
    k, size = morm_blocks(1.0 - delta, tau, n_rows)
    exact = sampled_halfwidth(1.0, n_rows, k, size, delta, replacement=replace)
    paper = None if replace else paper_halfwidth_morm(mean_variance(1.0, size), tau)
    name = f"samples {'with' if replace else 'without'} replacement, tau={tau:g}"
    options = {"blocks": SampledBlocks(tau=tau, replace=replace)}
    survives, seconds = _survived(n_rows, k, size, delta), _seconds(n_rows, k * size)
    return PlannedWay(name, options, k, size, exact, paper, None, survives, k * size, seconds)


def order_halfwidth(n_rows: int, n_blocks: int, delta: float, outlying: int = 0) -> float | None:
    """About the half-width of the order interval: normal scores of its ranks, in sd of a row.

    sqrt(K/n) times the normal quantile at (K + 1 - l - 3/8)/(K + 1/4) (Blom), l the rank of the interval.
    """
    rank = order_rank(n_blocks, delta, outlying)
    if rank is None:
        return None
    from scipy.special import ndtri

    score = float(ndtri((n_blocks + 1 - rank - 0.375) / (n_blocks + 0.25)))
    return math.sqrt(n_blocks / n_rows) * score


def possible_ways(
    makers: Sequence[Callable[[int], PlannedWay]], n_rows: int, width: float | None, *, must: bool = False
) -> tuple[list[PlannedWay], list[ConfigError]]:
    """All ways that are possible, and why others are not; the first one `must` be."""
    ways, refusals = [], []
    for make in makers:
        try:
            way = make(n_rows)
        except ConfigError as error:
            if must and make is makers[0]:
                raise
            refusals.append(error)
            continue
        ways.append(way if width is None else replace(way, rows_for_width=rows_for_way(make, float(width))))
    if not ways:
        raise refusals[0]
    return ways, refusals


def rows_for_way(make: Callable[[int], PlannedWay], width: float, most: int = 10**18) -> int | None:
    """Least number of rows (to a thousandth) with an ``exact`` half-width of at most `width`, by bisection.

    None if `most` rows do not suffice. `make` may refuse numbers of rows that are too small.
    """

    def narrow(n_rows: int) -> bool:
        try:
            exact = make(n_rows).exact
        except ConfigError:
            return False
        return exact is not None and exact <= width

    high = 16
    while not narrow(high):
        high *= 4
        if high > most:
            return None
    low = high // 4
    while high - low > max(1, high // 1000):
        middle = (low + high) // 2
        low, high = (low, middle) if narrow(middle) else (middle, high)
    return high


def _seconds(n_rows: int, drawn: int = 0) -> float:
    """Rough time of one thread: reading all rows, and adding what is drawn beside."""
    return n_rows / ROWS_PER_SECOND + max(drawn - n_rows, 0) / DRAWS_PER_SECOND


def _survived(n_rows: int, n_blocks: int, block_size: int, delta: float) -> int:
    """Outlying rows with which fewer than half of the samples hold one, with probability 1 - delta.

    A sample holds one with probability at most 1 - (1 - o/(n - B + 1))^B.
    """
    p = binomial_p(n_blocks, delta)
    if not p > 0.0:
        return 0
    share = -math.expm1(math.log1p(-p) / block_size)
    return max(0, math.floor(share * (n_rows - block_size + 1)))
