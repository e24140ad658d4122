"""Ways to take a robust mean of n rows: blocks, half-widths at one standard deviation of a row, and costs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from distmom.errors import ConfigError
from distmom.theory.blocks import mom_blocks, morm_blocks
from distmom.theory.bounds import binomial_p, exact_level
from distmom.theory.intervals import order_rank
from distmom.theory.ladder import ladder_levels
from distmom.theory.paper import paper_halfwidth_mom, paper_halfwidth_morm
from distmom.theory.partition import partition_halfwidth
from distmom.theory.planning import best_blocks
from distmom.theory.repeated import repeated_halfwidth
from distmom.theory.swor_bound import sampled_halfwidth
from distmom.theory.variances import mean_variance

ROWS_OF_FINE_BLOCK = 8
"""A level of the automatic ladder needs at least this many rows a block."""


class WithHalfWidth(Protocol):
    """Anything that has the half-width of an ``exact`` interval."""

    @property
    def exact(self) -> float | None:
        """Half-width, None where there is none."""


@dataclass(frozen=True, slots=True)
class Way:
    """One way to take the mean, for n independent rows with standard deviation 1.

    Attributes
    ----------
    name : str
        What it is, in a few words.
    options : dict
        Arguments of `distmom.mean` that choose it.
    n_blocks, block_size : int
        K and B.
    exact : float or None
        Half-width of the ``exact`` interval; infinite where the bound is vacuous, None where there is none.
    paper : float or None
        Half-width of the proposition; None where it has none.
    order : float or None
        About the half-width of the ``order`` interval, for normal block means; None where it is not offered.
    survives : int
        Outlying rows (units, where whole units are blocks) with which the answer stays finite: always for a
        partition; with the confidence level for samples.
    rows_drawn : int
        Values that enter a block: n for a partition, K B for samples.
    """

    name: str
    options: dict[str, Any]
    n_blocks: int
    block_size: int
    exact: float | None
    paper: float | None
    order: float | None
    survives: int
    rows_drawn: int


def automatic_way(n_rows: int, delta: float, n_fine: int = 945) -> Way:
    """The default of `distmom.mean`: fine blocks, an answer at a level of their ladder."""
    levels = _automatic_levels(n_rows, n_fine)
    least = min(63.0, max(9.0, math.sqrt(n_rows) / 4.0))
    k = next((level for level in levels if level >= least), levels[-1])
    k_exact = exact_level(levels, delta)
    return Way(
        "partition, automatic",
        {},
        k,
        n_rows // k,
        partition_halfwidth(k_exact / n_rows, k_exact, delta),
        None,
        order_halfwidth(n_rows, k, delta),
        (levels[-1] - 1) // 2,
        n_rows,
    )


def _automatic_levels(n_rows: int, n_fine: int) -> list[int]:
    """Levels of the ladder with enough rows a block."""
    levels = [k for k in ladder_levels(n_fine) if n_rows >= ROWS_OF_FINE_BLOCK * k]
    if not levels:
        raise ConfigError(
            f"n_rows: the automatic rule needs {5 * ROWS_OF_FINE_BLOCK} rows, not {n_rows}; give n_blocks"
        )
    return levels


def given_way(n_rows: int, delta: float, n_blocks: int, outlying: int = 0) -> Way:
    """A partition into a given number of blocks, of which some may be outlying."""
    if not 2 * outlying < n_blocks <= n_rows:
        raise ConfigError(
            f"n_blocks: must exceed twice the {outlying} outlying rows and not the {n_rows} rows, "
            f"not {n_blocks}"
        )
    size = n_rows // n_blocks
    options: dict[str, Any] = {"n_blocks": n_blocks}
    if outlying:
        options["contamination"] = outlying
    return Way(
        f"partition, {n_blocks} blocks",
        options,
        n_blocks,
        size,
        partition_halfwidth(1.0 / size, n_blocks, delta, outlying),
        None,
        order_halfwidth(n_rows, n_blocks, delta, outlying),
        (n_blocks - 1) // 2,
        n_rows,
    )


def contaminated_way(n_rows: int, delta: float, outlying: int) -> Way:
    """A partition with the odd number of blocks of least half-width for that many outlying rows."""
    k = best_blocks(n_rows, delta, outlying)
    way = given_way(n_rows, delta, k, outlying)
    name = f"partition, for {outlying} outlying rows"
    return replace(way, name=name, options={"contamination": outlying})


def paper_way(n_rows: int, delta: float, outlying: int = 0) -> Way:
    """The median of means as the paper prescribes it, whatever rows are outlying."""
    k, _ = mom_blocks(1.0 - delta, n_rows)
    way = given_way(n_rows, delta, k)
    if outlying:
        return replace(
            way, name="partition, paper", options={"n_blocks": "paper"}, exact=math.inf, order=None
        )
    paper = paper_halfwidth_mom(1.0, n_rows, delta)
    return replace(way, name="partition, paper", options={"n_blocks": "paper"}, paper=paper)


def repeated_way(n_rows: int, delta: float, repeats: int, n_fine: int = 945) -> Way:
    """Repeated random partitions, each as in the default; the interval at the level where it is least."""
    exact = min(repeated_halfwidth(k / n_rows, k, delta) for k in _automatic_levels(n_rows, n_fine))
    return replace(
        automatic_way(n_rows, delta, n_fine),
        name=f"{repeats} random partitions",
        options={"repeats": repeats},
        exact=exact,
        order=None,
        rows_drawn=repeats * n_rows,
    )


def sampled_way(n_rows: int, delta: float, scheme: str, tau: float, kappa: float = 0.5) -> Way:
    """Independent samples without (``swor``) or with replacement (``monte_carlo``), by the proposition.

    ``kappa`` is the share of delta that is left to the sampling error of the data.
    """
    k, size = morm_blocks(1.0 - delta, tau, n_rows, kappa=kappa)
    replacement = scheme == "monte_carlo"
    exact = sampled_halfwidth(1.0, n_rows, k, size, delta, replacement=replacement)
    paper = None if replacement else paper_halfwidth_morm(mean_variance(1.0, size), tau)
    options: dict[str, Any] = {"scheme": scheme, "tau": tau}
    if kappa != 0.5:
        options = {"scheme": scheme, "n_blocks": k, "block_size": size}
    name = f"samples {'without' if scheme == 'swor' else 'with'} replacement, tau={tau:g}"
    return Way(name, options, k, size, exact, paper, None, _survived(n_rows, k, size, delta), k * size)


def order_halfwidth(n_rows: int, n_blocks: int, delta: float, outlying: int = 0) -> float | None:
    """About the half-width of the order interval: normal scores of its ranks, in sd of a row.

    Notes
    -----
    sqrt(K/n) times the normal quantile at (K + 1 - l - 3/8)/(K + 1/4) (Blom), l the rank of the interval.
    """
    rank = order_rank(n_blocks, delta, outlying)
    if rank is None:
        return None
    from scipy.special import ndtri

    score = float(ndtri((n_blocks + 1 - rank - 0.375) / (n_blocks + 0.25)))
    return math.sqrt(n_blocks / n_rows) * score


def rows_for_way(way: Callable[[int], WithHalfWidth], width: float, most: int = 10**18) -> int | None:
    """Least number of rows (to a thousandth) with an ``exact`` half-width of at most `width`, by bisection.

    None if `most` rows do not suffice. `way` may refuse numbers of rows that are too small.
    """

    def narrow(n_rows: int) -> bool:
        try:
            exact = way(n_rows).exact
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


def _survived(n_rows: int, n_blocks: int, block_size: int, delta: float) -> int:
    """Outlying rows with which fewer than half of the samples hold one, with probability 1 - delta.

    A sample holds one with probability at most 1 - (1 - o/(n - B + 1))^B.
    """
    p = binomial_p(n_blocks, delta)
    if not p > 0.0:
        return 0
    share = -math.expm1(math.log1p(-p) / block_size)
    return max(0, math.floor(share * (n_rows - block_size + 1)))
