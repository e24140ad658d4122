"""Few rows of a sample in a block: how many it needs, and the notice if there are hardly more.

For blocks of m rows whose (projected) kernel has standard deviation s and skewness g, the median over blocks
is biased by about g s/(6 m). Its standard error over K blocks is about 1.25 s/sqrt(K m), so the bias is g
sqrt(K/m)/7.5 standard errors.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from distmom.numerics.arrays import Ints
from distmom.report.words import listed

LEAST = 6
"""Fewest rows of each sample in a block, if the number of blocks is given.

Simulated with 60 rows in the smaller sample, for AUC of 0.76, 0.92 and 0.98, variances and means of skewed
rows: with one row per block the median is off by 2.4 to 3.2 standard errors and 99% intervals cover 0.01 to
0.83, with two by up to 1.9 and 0.50 to 0.98, with six by up to 0.9 and 0.98 to 1.00.
"""

BLOCKS_PER_ROW = 3
"""If a block has fewer rows of a sample than a third of the number of blocks, a skewness of 2 (exponential
rows, or an AUC of 0.9) biases the median by more than half of its standard error."""


def least_rows(degree: int) -> int:
    """Rows that a block needs of a sample of which a tuple takes `degree` rows."""
    return max(LEAST, degree)


def lowered_note(wanted: int, n_blocks: int, degrees: Sequence[int]) -> str:
    """The notice if rows are too few for the requested blocks."""
    each = listed(dict.fromkeys(str(least_rows(degree)) for degree in degrees))
    of = "" if len(degrees) == 1 else " of each sample"
    return f"blocks lowered from {wanted} to {n_blocks}: a block needs {each} rows{of}"


def few_rows_note(n: Sequence[int], n_blocks: int, what: str) -> str | None:
    """The notice if a sample has few rows, or units, for `n_blocks` blocks, but enough to fill them.

    With several samples the smallest decides, whatever the total.
    """
    scarcest = min(n)
    if len(n) < 2 or n_blocks < 2 or scarcest * BLOCKS_PER_ROW >= n_blocks**2:
        return None
    most = max(int(np.sqrt(scarcest * BLOCKS_PER_ROW)), 1)
    return (
        f"{scarcest:,} {what} of a sample make {n_blocks} blocks of about {scarcest // n_blocks} each: their "
        f"median may be off by as much as its interval allows for; use at most {most} blocks"
    )


def small_samples_note(sizes: Ints, what: str) -> str | None:
    """The notice on drawn samples with hardly any rows of a lake, or tuples of rows.

    `sizes` has a line for each drawn sample.
    """
    smallest = int(np.median(sizes, axis=0).min()) if len(sizes) else LEAST
    if smallest >= LEAST:
        return None
    return (
        f"a sample has {smallest} {what}, and the median over samples of so few is not their mean; "
        f"draw samples of at least {LEAST}"
    )


def short_note(n: Sequence[int], degrees: Sequence[int]) -> str | None:
    """The notice if one of several samples has fewer complete rows than a tuple takes."""
    short = next((i for i, one in enumerate(n) if one < degrees[i]), None)
    if short is None or not any(n):
        return None
    return (
        f"{n[short]:,} rows of sample {short + 1} of {len(n)} have all values, and the kernel takes "
        f"{degrees[short]}; give more rows, or leave the column out"
    )
