"""The best number of blocks for n rows, and for random disjoint parts of them, as tournaments use."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from distmom.errors import ConfigError
from distmom.theory._checks import check_count, check_delta
from distmom.theory.bounds import width_factors
from distmom.theory.repeated import repeated_factors

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Factors = Callable[[NDArray[Any], float, int], NDArray[Any]]

AUTOMATIC = 63
"""Default number of blocks of a part: 3 * 3 * 7, so that they can be merged into fewer."""

LEAST_ROWS = 8
"""Fewest rows of a block; below it neighbouring blocks are joined."""

_WINDOW = 4096


@lru_cache(maxsize=1024)
def best_blocks(n_rows: int, delta: float, outlying: int = 0, *, repeated: bool = False) -> int:
    """Odd number of blocks with the smallest exact margin of error, for ``outlying`` arbitrary blocks.

    It is the odd K that minimises ``width_factor(K, delta, o)`` / sqrt(floor(n/K)); of equals, the smallest.
    ConfigError if no odd K <= n exceeds 2 o, the condition for a finite answer.

    K > 2 o only makes the answer finite: at delta = 0.01 and o = 10, K = 21 gives 152 sigma/sqrt(n) and
    K = 59 gives 13.4. For small n the floor in the block size favours K that divide n nearly.

    Parameters
    ----------
    outlying : int
        Number o of rows or units that may be arbitrary; each affects at most one block.
    repeated : bool
        Whether partitions are repeated: the factor is then 1/sqrt(`repeated_p`).

    Examples
    --------
    >>> best_blocks(10**9, 0.01, 10)
    59
    """
    check_count("n_rows", n_rows)
    check_count("outlying", outlying, least=0)
    check_delta(delta)
    least = 2 * outlying + 1
    if least > n_rows:
        raise ConfigError(
            f"contamination: a finite answer needs more than {2 * outlying} blocks for {outlying} outlying "
            f"rows or units, got n={n_rows} rows; lower contamination to at most {(n_rows - 1) // 2}"
        )
    import numpy as np

    # among the K of one block size the largest is best, so small sizes are tried exhaustively
    small_sizes = np.arange(1, min(n_rows, _WINDOW) + 1)
    largest = (n_rows // small_sizes - 1) // 2 * 2 + 1
    factors: Factors = repeated_factors if repeated else width_factors
    candidates = np.union1d(_candidates(n_rows, delta, outlying, factors), largest[largest >= least])
    sizes = n_rows // candidates
    return int(candidates[(factors(candidates, delta, outlying) / sizes**0.5).argmin()])


def _candidates(n_rows: int, delta: float, outlying: int, factors: Factors) -> NDArray[Any]:
    """Odd numbers of blocks around the minimum of K * factor(K)^2, as int64.

    The curve is smooth and has one minimum, between 2o and about 13o + 10 log(1/delta); the floor in the
    block size moves the best K by a few of its neighbours, which a window of thousands contains.
    """
    import numpy as np

    least = 2 * outlying + 1
    most = min(n_rows, 16 * outlying + 64 + math.ceil(16.0 * math.log(1.0 / delta)))
    if most - least > 2 * _WINDOW:
        coarse = np.unique(np.geomspace(least, most, 2048).astype(np.int64) // 2 * 2 + 1)
        scores = factors(coarse, delta, outlying) * np.sqrt(coarse)
        centre = int(coarse[scores.argmin()])
        least, most = max(least, centre - _WINDOW + 1), min(most, centre + _WINDOW)
    least |= 1
    return np.arange(least, max(most, least) + 1, 2, dtype=np.int64)


def part_outlying(outlying: int, n_parts: int, delta: float) -> int:
    """Bound on the arbitrary rows that fall into any one part, with probability 1 - delta.

    Hoeffding's bound, valid for samples without replacement: the number in a part exceeds o/P + t with
    probability of at most exp(-2 t^2/o). Which rows are arbitrary must not depend on the random parts.

    Parameters
    ----------
    outlying : int
        Arbitrary rows (or units) in all.
    n_parts : int
        Random disjoint parts of equal size.
    delta : float
        Allowed failure probability, for all parts together.

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

    Half of delta is for the allocation to the parts; the blocks have the smallest exact margin of error, at
    the other half, for the number of arbitrary rows that one part may then contain.

    ConfigError if they could outvote the blocks of a part.

    Examples
    --------
    >>> part_blocks(10_000, 3, 0.01, 10)
    57
    """
    most = part_outlying(outlying, n_parts, delta / 2.0)
    return best_blocks(n_rows // n_parts, delta / 2.0, most)


def joined_blocks(n_rows: int) -> int:
    """Number of automatic blocks of a part with `n_rows` rows, after joining until each has enough rows.

    Examples
    --------
    >>> joined_blocks(10_000), joined_blocks(500), joined_blocks(200), joined_blocks(20)
    (63, 21, 21, 7)
    """
    check_count("n_rows", n_rows, 0)
    return max(k for k in (7, 9, 21, AUTOMATIC) if k == 7 or n_rows >= LEAST_ROWS * k)
