"""The best number of blocks for n rows."""

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

_WINDOW = 4096


@lru_cache(maxsize=1024)
def best_blocks(n_rows: int, delta: float, outlying: int = 0, *, repeated: bool = False) -> int:
    """Odd number of blocks of least exact half-width, with ``outlying`` arbitrary blocks.

    Parameters
    ----------
    n_rows : int
        Number of rows n.
    delta : float
        Allowed failure probability, in (0, 1).
    outlying : int
        Number o of rows or units that may be arbitrary; each ruins at most one block.
    repeated : bool
        For repeated partitions, by the factor 1/sqrt(`repeated_p`).

    Returns
    -------
    int
        The odd K that minimises ``width_factor(K, delta, o)`` / sqrt(floor(n/K)), the smallest of equals.

    Raises
    ------
    ConfigError
        If no odd K <= n exceeds 2 o, the condition for a finite answer.

    Notes
    -----
    K > 2 o only makes the answer finite: at delta = 0.01 and o = 10, K = 21 gives 152 sigma/sqrt(n) and
    K = 59 gives 13.4. For small n the floor in the block size favours K that divide n nearly.

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
