"""Findings of the rule about one set of blocks: finest level, ladder, outlying blocks, and answer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from distmom.inference.answers import OfGroups, block_sizes, compact
from distmom.inference.ladder import Merger
from distmom.inference.location import Location
from distmom.numerics.arrays import Bools, Floats, Ints
from distmom.theory.bounds import median_rank


@dataclass(frozen=True)
class Finest(OfGroups):
    """The finest usable blocks of each group, and the scale measured on them.

    Attributes
    ----------
    blocks : Merger
        The finest blocks, shape (n_groups, width).
    centre : ndarray, shape (n_groups,)
        Lower median of their means.
    se : ndarray, shape (n_groups,)
        Standard error of the mean of all rows, 0 if more than half of the blocks are constant.
    spread : ndarray, broadcast to (n_groups, width)
        Standard deviation of each block mean.
    share : ndarray, broadcast to (n_groups, width)
        Weight of each block in the mean of all rows.
    efficiency : ndarray, shape (n_groups,)
        Effective rows of the typical block as a share of its rows; 1 unless rows have weights.
    """

    blocks: Merger
    centre: Floats
    se: Floats
    spread: Floats
    share: Floats
    efficiency: Floats

    @cached_property
    def n_non_finite(self) -> Ints:
        """Finest blocks whose mean is not finite."""
        return np.asarray(np.count_nonzero(self.blocks.filled & ~np.isfinite(self.blocks.mean), axis=1))

    @property
    def answerable(self) -> Bools:
        """Groups with fewer than half of the finest blocks non-finite."""
        return np.asarray(self.n_non_finite < median_rank(self.blocks.n_filled))

    @property
    def testable(self) -> Bools:
        """Groups with a scale to test against."""
        return np.asarray(self.answerable & (self.se > 0.0) & np.isfinite(self.se))


@dataclass(frozen=True)
class Ladder(OfGroups):
    """Medians and margins of error along the levels; all arrays have shape (n_groups, n_levels).

    ``usable`` marks the levels that a group has; the others are NaN. ``inflation`` is the factor by which
    the standard deviation of a block mean exceeds se sqrt(K): see `inflation`.
    """

    of_all = ("levels",)

    levels: Ints
    usable: Bools
    median: Floats
    margin: Floats
    inflation: Floats


@dataclass(frozen=True)
class Screen(OfGroups):
    """Result of the comparison of levels and blocks; arrays of shape (n_groups,), `far` (n_groups, width)."""

    k_hat: Ints
    far: Bools
    n_far: Ints
    shift: Floats
    near_shift: Floats


@dataclass(frozen=True)
class Answer(OfGroups):
    """Blocks behind the answer of each group: rows, effective rows and means (n_groups, width).

    Ragged ones are padded: the first `width` are a group's own.
    """

    kept: Merger
    width: Ints
    count: Ints
    effective: Floats
    mean: Floats
    place: Location

    @property
    def estimate(self) -> Floats:
        """The answer."""
        return self.place.estimate

    @cached_property
    def n_non_finite(self) -> Ints:
        """Blocks whose mean is not finite."""
        return np.asarray(np.count_nonzero((self.count > 0) & ~np.isfinite(self.mean), axis=1))

    @property
    def finite(self) -> Bools:
        """Groups with fewer than half of these non-finite."""
        return np.asarray(self.n_non_finite < median_rank(np.count_nonzero(self.count, axis=1)))


@dataclass(frozen=True)
class BlockSet(OfGroups):
    """Findings about a set of blocks; `given` is their number if the user chose it."""

    of_all = ("given",)

    fine: Merger
    given: int | None
    finest: Finest
    ladder: Ladder
    seen: Screen
    contradicted: Bools
    beyond: Bools
    answer: Answer

    @property
    def aside(self) -> Bools:
        """Groups whose answer leaves the outlying blocks out."""
        return self.contradicted if self.given is None else np.zeros_like(self.contradicted)

    @property
    def n_non_finite(self) -> Ints:
        """Non-finite blocks of the answer, or among those screened out for it."""
        return np.where(self.aside, self.finest.n_non_finite, self.answer.n_non_finite)

    def fields(self) -> dict[str, Any]:
        """The fields of `RuleAnswer` about the blocks of the answer."""
        count, mean = compact(self.answer.count, self.answer.mean)
        return {
            "n_blocks": np.count_nonzero(count, axis=1),
            "block_estimates": mean,
            "block_rows": count,
            "block_size": block_sizes(count),
            "n_non_finite": self.n_non_finite,
            "n_screened_out": np.where(self.aside, self.seen.n_far, 0),
        }
