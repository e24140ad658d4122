"""Numbers of fine blocks, and the nested levels to which fine blocks are merged.

Medians at several numbers of blocks come from one pass: rows go to fine blocks, and a level K merges
fine blocks. Levels that divide the number of fine blocks nest without remainder, and odd levels have a
middle value, so the ladder consists of odd divisors.
"""

from __future__ import annotations

from functools import lru_cache

from distmom.theory._checks import check_count

LEAST_LEVEL = 5
"""With fewer than five blocks a single bad block already exceeds what the median tolerates."""


@lru_cache(maxsize=1024)
def fine_blocks(n_blocks: int, cap: int = 1023) -> int:
    """Number of fine blocks for a given number of blocks.

    It is ``n_blocks`` times the largest odd multiplier that stays within ``cap``; at least ``n_blocks``.

    Parameters
    ----------
    n_blocks : int
        Number of blocks of the answer, at least 1.
    cap : int
        The number of fine blocks stays at or below this unless ``n_blocks`` alone is above it.

    Examples
    --------
    >>> fine_blocks(7)
    1015
    >>> fine_blocks(2000)
    2000
    """
    check_count("n_blocks", n_blocks)
    multiplier = max(1, cap // n_blocks)
    if multiplier % 2 == 0:
        multiplier -= 1
    return n_blocks * multiplier


@lru_cache(maxsize=1024)
def ladder_levels(n_fine: int, n_blocks: int | None = None) -> tuple[int, ...]:
    """Levels to which fine blocks are merged, ascending.

    Without ``n_blocks``: the odd divisors of ``n_fine`` that are at least 5. With it: ``n_blocks`` times the
    odd divisors of ``n_fine / n_blocks``.

    Parameters
    ----------
    n_blocks : int, optional
        Number of blocks requested by the user; must divide ``n_fine``. The ladder then starts with it.

    Examples
    --------
    >>> ladder_levels(105)
    (5, 7, 15, 21, 35, 105)
    >>> ladder_levels(fine_blocks(101), 101)
    (101, 303, 909)
    """
    check_count("n_fine", n_fine)
    if n_blocks is None:
        return tuple(divisor for divisor in _odd_divisors(n_fine) if divisor >= LEAST_LEVEL)
    check_count("n_blocks", n_blocks)
    if n_fine % n_blocks:
        raise ValueError(f"n_blocks={n_blocks} does not divide n_fine={n_fine}")
    return tuple(n_blocks * divisor for divisor in _odd_divisors(n_fine // n_blocks))


def _odd_divisors(number: int) -> list[int]:
    while number % 2 == 0:
        number //= 2
    small = [d for d in range(1, int(number**0.5) + 2, 2) if d * d <= number and number % d == 0]
    return sorted({*small, *(number // d for d in small)})
