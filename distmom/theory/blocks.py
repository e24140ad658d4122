"""Numbers and sizes of blocks that the propositions prescribe, and the failure probabilities they admit.

K blocks of size B for a confidence level 1 - delta, as in Laforgue, Clemencon & Bertail (2019). A
confidence level outside a proposition's range is refused with the range for this number of rows; the
condition itself is checked on the integers K and B that are used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, Context, Decimal

from distmom.errors import ConfigError


def mom_least_delta(n_rows: int) -> float:
    """Least delta admitted for medians of means of ``n_rows`` rows: exp(1 - n/2)."""
    return math.exp(1.0 - 0.5 * n_rows)


def mou_least_delta(n_rows: float, degree: int = 2) -> float:
    """Least delta admitted for medians of U-statistics: exp(1 - 2n/(9d)).

    The printed range lacks the degree d, and would allow blocks too small for one tuple.
    """
    return math.exp(1.0 - 2.0 * n_rows / (9.0 * degree))


def morm_least_delta(tau: float, n_rows: float, degree: int = 1, kappa: float = 0.5) -> float:
    """Least delta admitted for randomized blocks: exp(-8 tau^2 n/(9d))/kappa (d = 1 for means)."""
    _check_fraction("tau", tau, 0.5)
    _check_fraction("kappa", kappa, 1.0)
    return math.exp(-8.0 * tau * tau * n_rows / (9.0 * degree)) / kappa


def mom_blocks(confidence_level: float, n_rows: int) -> tuple[int, int]:
    """Blocks of the median of means.

    Parameters
    ----------
    confidence_level : float
        1 - delta, in (0, 1).
    n_rows : int
        Number of rows n.

    Returns
    -------
    n_blocks, block_size : int
        K = ceil(log(1/delta)) and B = floor(n/K).

    Raises
    ------
    ConfigError
        If delta < exp(1 - n/2), with the admissible range for this n.

    References
    ----------
    Laforgue, Clemencon & Bertail (2019), equation of the MoM bound in Section 2.

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


def mou_blocks(confidence_level: float, n_rows: int, degree: int = 2) -> tuple[int, int]:
    """Blocks of the median of U-statistics of one sample.

    Returns
    -------
    n_blocks, block_size : int
        K = ceil((9/2) log(1/delta)) and B = floor(n/K).

    Raises
    ------
    ConfigError
        If B < degree: a block could not form a single tuple.

    References
    ----------
    Laforgue, Clemencon & Bertail (2019), the proposition on medians of U-statistics.

    Examples
    --------
    >>> mou_blocks(0.9, 1000)
    (11, 90)
    """
    n_blocks, sizes = mogu_blocks(confidence_level, (n_rows,), (degree,))
    return n_blocks, sizes[0]


def mogu_blocks(
    confidence_level: float, n_rows: Sequence[int], degrees: Sequence[int]
) -> tuple[int, tuple[int, ...]]:
    """Blocks of the median of generalized U-statistics: T samples of sizes n_t, degrees d_t.

    Returns
    -------
    n_blocks : int
        K = ceil((9/2) log(1/delta)).
    block_sizes : tuple of int
        B_t = floor(n_t/K), one per sample.

    Raises
    ------
    ConfigError
        If some B_t < d_t.

    Examples
    --------
    >>> mogu_blocks(0.99, (1000, 500), (1, 1))
    (21, (47, 23))
    """
    delta = _delta(confidence_level)
    n_blocks = math.ceil(4.5 * math.log(1.0 / delta))
    sizes = tuple(n // n_blocks for n in n_rows)
    if any(size < degree for size, degree in zip(sizes, degrees, strict=True)):
        n, degree = _scarcest(n_rows, degrees)
        raise _inadmissible("medians of U-statistics", n, confidence_level, mou_least_delta(n, degree))
    return n_blocks, sizes


def morm_blocks(
    confidence_level: float, tau: float, n_rows: int, degree: int = 1, kappa: float = 0.5
) -> tuple[int, int]:
    """Blocks of the median of randomized means (or U-statistics, with their degree).

    Parameters
    ----------
    confidence_level : float
        1 - delta, in (0, 1).
    tau : float
        Share of bad blocks tolerated among all possible blocks, in (0, 1/2): larger means more blocks,
        smaller ones, and a better constant.
    n_rows : int
        Number of rows n.
    degree : int
        1 for means; the degree of the kernel for U-statistics.
    kappa : float
        Share of delta left to the sampling error of the data, in (0, 1); the rest goes to the draw of the
        blocks. The propositions have 1/2.

    Returns
    -------
    n_blocks, block_size : int
        K = ceil(log(1/((1 - kappa) delta)) / (2 (1/2 - tau)^2)) and
        B = floor(8 tau^2 n / (9 log(1/(kappa delta)))), at most n.

    Raises
    ------
    ConfigError
        If B < degree, with the admissible range for this n, or tau or kappa is out of range.

    References
    ----------
    Laforgue, Clemencon & Bertail (2019), the proposition on medians of randomized means, and the appendix
    on the term log(2/delta).

    Examples
    --------
    >>> morm_blocks(0.9, 0.3, 1000)
    (38, 26)
    """
    n_blocks, sizes = morgu_blocks(confidence_level, tau, (n_rows,), (degree,), kappa)
    return n_blocks, sizes[0]


def morgu_blocks(
    confidence_level: float,
    tau: float,
    n_rows: Sequence[int],
    degrees: Sequence[int],
    kappa: float = 0.5,
) -> tuple[int, tuple[int, ...]]:
    """Blocks of the median of randomized generalized U-statistics; parameters as in `morm_blocks`.

    Examples
    --------
    >>> morgu_blocks(0.9, 0.45, (1000, 2000), (1, 1))
    (600, (60, 120))
    """
    delta = _delta(confidence_level)
    _check_fraction("tau", tau, 0.5)
    _check_fraction("kappa", kappa, 1.0)
    n_blocks = math.ceil(-math.log((1.0 - kappa) * delta) / (2.0 * (0.5 - tau) ** 2))
    budget = -9.0 * math.log(kappa * delta)
    sizes = tuple(min(n, math.floor(8.0 * tau * tau * n / budget)) for n in n_rows)
    if any(size < degree for size, degree in zip(sizes, degrees, strict=True)):
        n, degree = _scarcest(n_rows, degrees)
        least = morm_least_delta(tau, n, degree, kappa)
        raise _inadmissible(f"randomized blocks with tau={tau:g}", n, confidence_level, least)
    return n_blocks, sizes


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
    """Build the error of a delta below its range; the printed ends are rounded to the admissible side."""
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
