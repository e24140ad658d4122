"""The test that goes with a comparison of two samples."""

from __future__ import annotations

from dataclasses import dataclass

from distmom.checks import check_count


@dataclass(frozen=True)
class Permutations:
    """A permutation test: the number of permutations, and how many rows take part.

    Parameters
    ----------
    n : int
        Number of permutations. The smallest possible p-value is 1/(n + 1).
    rows : int
        Maximum number of rows of each sample in the test, drawn at random. Estimates use all rows.

    Raises
    ------
    ConfigError
        If a number is no whole number in range.

    Examples
    --------
    >>> Permutations(999)
    Permutations(n=999, rows=10000)
    """

    n: int = 9_999
    rows: int = 10_000

    def __post_init__(self) -> None:
        check_count("Permutations: n", self.n)
        check_count("Permutations: rows", self.rows, least=2)
