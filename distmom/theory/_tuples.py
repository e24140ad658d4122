"""Tuples of rows of one or several samples: their number, and how many of them hold a row."""

from __future__ import annotations

import math
from collections.abc import Sequence

from distmom.theory._checks import check_count

Numbers = int | Sequence[int]
"""Of one sample, or of each of several."""


def each(numbers: Numbers) -> tuple[int, ...]:
    """The number of every sample."""
    return tuple(numbers) if isinstance(numbers, Sequence) else (numbers,)


def count_tuples(n_rows: Numbers, degree: Numbers) -> int:
    """C(n_1, d_1) C(n_2, d_2) ...; ValueError if a sample has fewer rows than a tuple takes of it."""
    pairs = list(zip(each(n_rows), each(degree), strict=True))
    for n, d in pairs:
        check_count("n_rows", n, least=d)
    return math.prod(math.comb(n, d) for n, d in pairs)
