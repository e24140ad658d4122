"""The sampled rows of a column, and those that stand apart."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from distmom.errors import NoAnswerError
from distmom.inference.share.gaps import NEAR, Apart, any_gap, rows_apart
from distmom.inference.share.given import GivenShare, given_share
from distmom.inference.share.scale import BLOCKS
from distmom.inference.share.second_group import second_group
from distmom.numerics.arrays import Bools, Floats
from distmom.numerics.median import lower_median
from distmom.numerics.samples.pool import RowPool

Cut = tuple[float, float]
NO_CUT = (-math.inf, math.inf)


@dataclass(frozen=True)
class Look:
    """The sampled rows of a column, and those that stand apart.

    Attributes
    ----------
    pool : RowPool
        The rows in the order of their keys.
    share : float, optional
        Share of all rows that may be bad.
    whose : callable, optional
        Finds conditions that describe the rows of a second group.
    """

    pool: RowPool
    share: float | None = None
    whose: Callable[[Apart], tuple[str, ...]] | None = None

    @cached_property
    def ordered(self) -> Floats:
        """Finite values, ascending."""
        return np.sort(self.pool.values[np.isfinite(self.pool.values)])

    @cached_property
    def gap(self) -> bool:
        """Whether any rows may stand apart, or be reported as such."""
        return any_gap(self.ordered)

    @cached_property
    def apart(self) -> Apart:
        """The rows that are screened out."""
        return rows_apart(self.ordered) if self.gap else Apart()

    @cached_property
    def group(self) -> Apart:
        """A second group of the rows that are not screened out."""
        return second_group(np.sort(self.pool.values[self.kept]) if self.apart.n else self.ordered)

    @cached_property
    def near(self) -> Apart:
        """The rows that are reported if nothing is screened out."""
        if self.gap:
            return near_apart(self.ordered, self.group)
        return self.group if self.group.n else Apart()

    @property
    def centre(self) -> float:
        """Lower median of the means of 63 blocks of the sample: a quick approximation of its answer."""
        size = self.pool.values.size // BLOCKS
        rows = self.pool.values[: BLOCKS * size].reshape(BLOCKS, size)
        return float(lower_median(rows.mean(axis=1)))

    @property
    def cut(self) -> Cut:
        """The ends strictly between which rows are kept."""
        return self.apart.lo, self.apart.hi

    @cached_property
    def given(self) -> GivenShare:
        """The window for the given share of all rows, of which the sample has some."""
        m, share = self.ordered.size, self.share or 0.0
        try:
            return given_share(self.ordered, share, m if np.isinf(self.pool.below) else 2 * m)
        except ValueError as error:
            raise NoAnswerError(f"contamination: {error}; lower it, or add data with rows") from error

    @property
    def second_cut(self) -> Cut:
        """For a second pass; with a given share, just beyond the ends of its window unless they cut ties."""
        if self.share is None or not self.ordered.size:
            return self.cut
        window = self.given
        low, high = (math.nextafter(end, way) for end, way in zip(window.ends, NO_CUT, strict=True))
        return NO_CUT if window.cut_ties else (low, high)

    def facts(self, apart: Apart, m: int | None = None) -> dict[str, Any]:
        """Fields of results about rows that stand apart, out of m: their range and their values."""
        m = self.ordered.size if m is None else m
        return {
            "n_sampled": m,
            "low": apart.lo,
            "high": apart.hi,
            "values": tuple((value, count / m) for value, count in apart.values),
            "only_values": sum(count for _, count in apart.values) == apart.n,
            "times": apart.times,
            "from_zero": apart.from_zero,
            "whose": () if apart.times is None or self.whose is None else self.whose(apart),
        }

    @cached_property
    def kept(self) -> Bools:
        """Rows of the sample that are not screened out."""
        low, high = self.cut
        return (self.pool.values > low) & (self.pool.values < high)


def near_apart(y_sorted: Floats, group: Apart | None = None) -> Apart:
    """The rows reported if none is screened out: nearer rows, or a second group if that is larger."""
    apart = rows_apart(y_sorted, NEAR, modes=True)
    group = second_group(y_sorted) if group is None else group
    return apart if apart.n >= group.n else group
