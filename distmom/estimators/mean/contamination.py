"""Number of blocks required for an assumed number of arbitrary rows or units."""

from __future__ import annotations

import math
from decimal import Decimal

from distmom.designs.design import MOST_BLOCKS
from distmom.errors import ConfigError
from distmom.estimators.options import MeanOptions
from distmom.theory.planning import best_blocks


def outlying_number(contamination: int | float, n: int) -> int:
    """The number of arbitrary rows or units: as given, or a share of `n`, rounded up.

    The share is taken as written: 0.07 of 100 rows are 7, although 0.07 * 100 exceeds 7 in floating point.

    Examples
    --------
    >>> outlying_number(10, 1000), outlying_number(0.07, 100), outlying_number(0.001, 1001)
    (10, 7, 2)
    """
    if isinstance(contamination, int):
        return contamination
    return math.ceil(Decimal(repr(float(contamination))) * n)


def contaminated_blocks(options: MeanOptions, n_blocks: int | None, n: int) -> tuple[int, int]:
    """Number of blocks, and number of arbitrary rows or units that they and the interval allow for.

    Parameters
    ----------
    options : MeanOptions
        With `contamination`.
    n_blocks : int or None
        The given number of blocks; None for the odd number with the shortest ``cantelli`` interval.
    n : int
        Number of rows, or of units if whole units form blocks.

    Raises
    ------
    ConfigError
        If half or more of the rows or units, or of the blocks, may be arbitrary; or if more blocks would be
        needed than a unit of work can hold.
    """
    assert options.contamination is not None
    what = counted_as(options)
    o = outlying_number(options.contamination, n)
    if 2 * o >= n:
        raise ConfigError(
            f"contamination: {o:,} arbitrary {what} of {n:,} leave no majority; lower it to at most "
            f"{(n - 1) // 2:,}"
        )
    best = best_blocks(n, options.delta, o, repeated=options.design.repeats > 1)
    if n_blocks is None:
        if best > MOST_BLOCKS:
            remedy = (
                f"give a number of blocks above {2 * o:,}"
                if 2 * o < MOST_BLOCKS
                else "filter out the worst with where"
            )
            raise ConfigError(
                f"contamination: {o:,} arbitrary {what} ask for {best:,} blocks, and at most {MOST_BLOCKS:,} "
                f"can be kept; lower it, or {remedy}"
            )
        return best, o
    if n_blocks <= 2 * o:
        raise ConfigError(
            f"contamination: {o:,} arbitrary {what} may outvote {n_blocks:,} blocks; use more than {2 * o:,} "
            f"blocks, or drop their number ({best:,} give the shortest interval)"
        )
    return n_blocks, o


def counted_as(options: MeanOptions) -> str:
    """What `contamination` counts, as a word."""
    return "rows" if not options.design.of_units else "files" if options.design.by_file else "units"
