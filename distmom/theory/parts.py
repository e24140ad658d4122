"""Numbers of blocks of random disjoint parts of the rows, as tournaments use."""

from __future__ import annotations

import math

from distmom.theory._checks import check_count, check_delta
from distmom.theory.planning import best_blocks

AUTOMATIC = 63
"""Blocks of a part where nothing else is asked for: 3 * 3 * 7, so that fewer can be made of them."""

LEAST_ROWS = 8
"""Rows of a block, below which neighbouring blocks are joined."""


def part_outlying(outlying: int, n_parts: int, delta: float) -> int:
    """At most so many of the arbitrary rows fall into any one part, with probability 1 - delta.

    Parameters
    ----------
    outlying : int
        Arbitrary rows (or units) in all.
    n_parts : int
        Random disjoint parts of equal size.
    delta : float
        Allowed failure probability, for all parts together.

    Notes
    -----
    Hoeffding's bound, valid for samples without replacement: the number in a part exceeds o/P + t with
    probability of at most exp(-2 t^2/o). Which rows are arbitrary must not depend on the random parts.

    Examples
    --------
    >>> part_outlying(200, 3, 0.01), part_outlying(2, 3, 0.01), part_outlying(5, 1, 0.01)
    (91, 2, 5)
    """
    check_count("outlying", outlying, 0)
    check_count("n_parts", n_parts)
    check_delta(delta)
    if n_parts == 1:
        return outlying
    more = math.sqrt(outlying * math.log(n_parts / delta) / 2.0)
    return min(outlying, math.ceil(outlying / n_parts + more))


def part_blocks(n_rows: int, n_parts: int, delta: float, outlying: int) -> int:
    """Odd number of blocks of each part, for `outlying` arbitrary ones among all `n_rows` rows.

    Half of delta is for how they fall into the parts; the blocks are those of least exact half-width for what
    one part may then hold, at the other half.

    Raises
    ------
    ConfigError
        If they could outvote the blocks of a part.

    Examples
    --------
    >>> part_blocks(10_000, 3, 0.01, 10)
    57
    """
    most = part_outlying(outlying, n_parts, delta / 2.0)
    return best_blocks(n_rows // n_parts, delta / 2.0, most)


def joined_blocks(n_rows: int) -> int:
    """Of the automatic blocks of a part with so many rows, how many are left once each has enough rows.

    Examples
    --------
    >>> joined_blocks(10_000), joined_blocks(500), joined_blocks(200), joined_blocks(20)
    (63, 21, 21, 7)
    """
    check_count("n_rows", n_rows, 0)
    return max(k for k in (7, 9, 21, AUTOMATIC) if k == 7 or n_rows >= LEAST_ROWS * k)
