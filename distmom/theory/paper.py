"""What the propositions of Laforgue, Clemencon & Bertail (2019) prescribe: blocks, and deviation bounds.

K blocks of size B for a confidence level 1 - delta. A level outside a proposition's range is refused, with
the range for this number of rows; the condition itself is checked for the integers K and B used. Of the
published closed forms in n, two drop the floor in B, one has a wrong denominator, and the constants 108 and
486 are for degree 2. The proofs are sound at the integer B: eps^2 = 6 V_B for medians of U-statistics and
(3/tau) V_B for randomized blocks, V_B the variance of one block's statistic.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, Context, Decimal

from distmom.errors import ConfigError
from distmom.theory._checks import check_count, check_delta, check_variance


def mom_least_delta(n_rows: int) -> float:
    """Smallest admissible delta for medians of means of ``n_rows`` rows: exp(1 - n/2)."""
    return math.exp(1.0 - 0.5 * n_rows)


def mou_least_delta(n_rows: float, degree: int = 2) -> float:
    """Smallest admissible delta for medians of U-statistics: exp(1 - 2n/(9d)).

    The printed range lacks the degree d, and would allow blocks too small for one tuple.
    """
    return math.exp(1.0 - 2.0 * n_rows / (9.0 * degree))


def morm_least_delta(tau: float, n_rows: float, degree: int = 1) -> float:
    """Smallest admissible delta for randomized blocks: 2 exp(-8 tau^2 n/(9d)) (d = 1 for means)."""
    _check_fraction("tau", tau, 0.5)
    return math.exp(-8.0 * tau * tau * n_rows / (9.0 * degree)) / 0.5


def mom_blocks(confidence_level: float, n_rows: int) -> tuple[int, int]:
    """Blocks of the median of means.

    ConfigError if delta < exp(1 - n/2), with the admissible range for this n.

    K = ceil(log(1/delta)) and B = floor(n/K).

    Examples
    --------
    >>> mom_blocks(0.999, 1000)
    (7, 142)
    """
    delta = _delta(confidence_level)
    n_blocks = math.ceil(math.log(1.0 / delta))
    if delta < mom_least_delta(n_rows) or n_blocks > n_rows:
        raise _inadmissible("medians of means", n_rows, confidence_level, mom_least_delta(n_rows))
    return n_blocks, n_rows // n_blocks


def mogu_blocks(
    confidence_level: float, n_rows: Sequence[int], degrees: Sequence[int]
) -> tuple[int, tuple[int, ...]]:
    """Blocks of the median of U-statistics: T samples of sizes n_t, degrees d_t; one or several.

    ConfigError if some B_t < d_t: a block could not form a single tuple.

    K = ceil((9/2) log(1/delta)) and B_t = floor(n_t/K), one per sample.

    Examples
    --------
    >>> mogu_blocks(0.9, (1000,), (2,)), mogu_blocks(0.99, (1000, 500), (1, 1))
    ((11, (90,)), (21, (47, 23)))
    """
    delta = _delta(confidence_level)
    n_blocks = math.ceil(4.5 * math.log(1.0 / delta))
    sizes = tuple(n // n_blocks for n in n_rows)
    if any(size < degree for size, degree in zip(sizes, degrees, strict=True)):
        n, degree = _scarcest(n_rows, degrees)
        raise _inadmissible("medians of U-statistics", n, confidence_level, mou_least_delta(n, degree))
    return n_blocks, sizes


def morgu_blocks(
    confidence_level: float, tau: float, n_rows: Sequence[int], degrees: Sequence[int] = (1,)
) -> tuple[int, tuple[int, ...]]:
    """Blocks of the median of randomized means, or of randomized generalized U-statistics.

    ConfigError if some B_t < d_t, with the admissible range for this n, or tau is out of range.

    K = ceil(log(2/delta) / (2 (1/2 - tau)^2)) and B_t = floor(8 tau^2 n_t / (9 log(2/delta))), at most n_t.

    Parameters
    ----------
    tau : float
        Share of bad blocks tolerated among all possible blocks, in (0, 1/2): a larger share means more and
        smaller blocks, and a better constant.
    degrees : sequence of int
        1 for means; those of the kernel for U-statistics.

    Examples
    --------
    >>> morgu_blocks(0.9, 0.3, (1000,)), morgu_blocks(0.9, 0.45, (1000, 2000), (1, 1))
    ((38, (26,)), (600, (60, 120)))
    """
    delta = _delta(confidence_level)
    _check_fraction("tau", tau, 0.5)
    n_blocks = math.ceil(-math.log(0.5 * delta) / (2.0 * (0.5 - tau) ** 2))
    budget = -9.0 * math.log(0.5 * delta)
    sizes = tuple(min(n, math.floor(8.0 * tau * tau * n / budget)) for n in n_rows)
    if any(size < degree for size, degree in zip(sizes, degrees, strict=True)):
        n, degree = _scarcest(n_rows, degrees)
        least = morm_least_delta(tau, n, degree)
        raise _inadmissible(f"randomized blocks with tau={tau:g}", n, confidence_level, least)
    return n_blocks, sizes


def paper_margin_mom(sigma2: float, n_rows: int, delta: float) -> float:
    """Median of means with K = ceil(log(1/delta)): 2 sqrt(2) e sigma sqrt((1 + log(1/delta))/n).

    Parameters
    ----------
    delta : float
        Failure probability, in [exp(1 - n/2), 1).

    Examples
    --------
    >>> round(paper_margin_mom(1.0, 10_000, 0.001) * 100, 1)
    21.6
    """
    check_variance("sigma2", sigma2)
    check_count("n_rows", n_rows)
    check_delta(delta)
    return 2.0 * math.sqrt(2.0) * math.e * math.sqrt(sigma2 * (1.0 - math.log(delta)) / n_rows)


def paper_margin_mou(variance: float) -> float:
    """Median of (generalized) U-statistics with K >= (9/2) log(1/delta): sqrt(6 V_B).

    Parameters
    ----------
    variance : float
        Variance V_B of the statistic of one block of the integer size used: of pairs of one sample
        4 sigma_1^2/B + 2 sigma_2^2/(B (B - 1)); of two samples `two_sample_variance`.
    """
    check_variance("variance", variance)
    return math.sqrt(6.0 * variance)


def paper_margin_morm(variance: float, tau: float) -> float:
    """Median of randomized means or U-statistics with `morgu_blocks`: sqrt((3/tau) V_B).

    The tail of W_n is the one at tau - q, not at 1/2 - q as in the published proof. With B rows out of n the
    exponent n/B needs no floor (Finner 1992).

    Parameters
    ----------
    tau : float
        In (0, 1/2).
    """
    check_variance("variance", variance)
    _check_fraction("tau", tau, 0.5)
    return math.sqrt(3.0 / tau * variance)


def _scarcest(n_rows: Sequence[int], degrees: Sequence[int]) -> tuple[int, int]:
    return min(zip(n_rows, degrees, strict=True), key=lambda pair: pair[0] / pair[1])


def _delta(confidence_level: float) -> float:
    _check_fraction("confidence_level", confidence_level, 1.0)
    return 1.0 - confidence_level


def _check_fraction(name: str, value: float, end: float) -> None:
    if not 0.0 < value < end:
        remedy = (
            "give a number like 0.99" if name == "confidence_level" else f"give a number like {end / 2:g}"
        )
        raise ConfigError(f"{name} must lie strictly between 0 and {end:g}, got {value!r}; {remedy}")


def _inadmissible(what: str, n_rows: int, confidence_level: float, least_delta: float) -> ConfigError:
    """Build the error for a delta below its range; printed ends are rounded to the admissible side."""
    received = f"got confidence_level={confidence_level!r} (delta={1.0 - confidence_level:.4g})"
    if least_delta >= 1.0:
        return ConfigError(
            f"confidence_level: {what} admit no confidence level at n={n_rows} rows, {received}; "
            "give more rows, or give the number of blocks"
        )
    delta = Decimal(least_delta).normalize(Context(prec=4, rounding=ROUND_CEILING))
    return ConfigError(
        f"confidence_level: {what} of n={n_rows} rows admit delta = 1 - confidence_level in [{delta}, 1), "
        f"{received}; use a confidence_level of at most {1 - delta}, or give the number of blocks"
    )
