"""U-statistics of blocks: the small result that replaces the rows of each block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Protocol

import numpy as np

from distmom.numerics.arrays import Floats, Ints
from distmom.numerics.kernels.components import (
    jackknife_of_parts,
    jackknife_variance,
    one_sample_variances,
    two_sample_variances,
)
from distmom.numerics.kernels.evaluate import Form, Tiles, block_sums
from distmom.numerics.kernels.kernel import Kernel, Weights, is_quotient
from distmom.numerics.kernels.sums import PairSums, count_tuples, tuple_mass
from distmom.numerics.pairs.tiles import tiled_sums

COMPONENTS = 3
"""Variances of a kernel's projections: sigma_1^2 and sigma_2^2, or zeta_10, zeta_01 and zeta_11; of a ratio
N/D those of both statistics in a block and their covariance: Var N, Cov, Var D."""


class KeptRows(Protocol):
    """Rows of some blocks."""

    @property
    def n_cells(self) -> int:
        """Number of blocks."""
        ...

    @property
    def first_cell(self) -> int:
        """Number of the first of these blocks, among all blocks."""
        ...

    def rows(self, cell: int) -> Floats:
        """Rows of a block, in the order of files and rows."""
        ...


@dataclass(frozen=True)
class BlockStatistics:
    """The statistic of each of B blocks, with P parts and values of some shape.

    Attributes
    ----------
    sizes : ndarray of int64, shape (B, n_samples)
        Rows.
    n_tuples : tuple of int, length B
        Tuples of rows that are averaged; those of several parts are added if they differ.
    means : ndarray, shape (B, P, *shape)
        The U-statistics from which the statistic is computed; NaN in non-finite blocks.
    variance : ndarray, shape (B, *shape)
        Estimated variance of the statistic of a block of this size; NaN if it was not requested.
    components : ndarray, shape (B, COMPONENTS)
        Estimated variances of the projections of a plain kernel of pairs, or of the parts of a ratio N/D; NaN
        if there are none.
    mass : ndarray, shape (B,)
        Weight of all tuples: their number if rows have no weights.
    """

    sizes: Ints
    n_tuples: tuple[int, ...]
    means: Floats
    variance: Floats
    components: Floats
    mass: Floats

    @classmethod
    def of(cls, sizes: Ints, n_tuples: tuple[int, ...], means: Floats, variance: Floats) -> BlockStatistics:
        """Blocks of rows without weights, with unknown components."""
        nothing = np.full((len(n_tuples), COMPONENTS), np.nan)
        return cls(sizes, n_tuples, means, variance, nothing, np.array(n_tuples, np.float64))

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        arrays = (self.sizes, self.means, self.variance, self.components, self.mass)
        return sum(a.nbytes for a in arrays) + 32 * len(self.n_tuples)

    def followed_by(self, other: BlockStatistics) -> BlockStatistics:
        """These blocks, followed by the other ones."""
        both: dict[str, Any] = {"n_tuples": self.n_tuples + other.n_tuples}
        for field in fields(self):
            if field.name != "n_tuples":
                both[field.name] = np.concatenate([getattr(self, field.name), getattr(other, field.name)])
        return BlockStatistics(**both)

    def take(self, order: Ints) -> BlockStatistics:
        """Some of the blocks, in this order."""
        tuples = tuple(self.n_tuples[block] for block in order.tolist())
        arrays = {f.name: getattr(self, f.name)[order] for f in fields(self) if f.name != "n_tuples"}
        return BlockStatistics(n_tuples=tuples, **arrays)


@dataclass(frozen=True)
class BlockKernel:
    """Evaluates a kernel on every block of some kept rows.

    Attributes
    ----------
    kernel : Kernel
    form : {"u", "v"}
    variances : bool
        Estimate the variance of the statistic in each block, which needs the mean at each row.
    weighted : bool
        The last value of a row is its weight, which is positive; the weight of a tuple is the product of its
        rows' weights.
    tiles : callable
        Evaluates all pairs of a kernel without a fast form: `tiled_sums`, or a function with the same
        results.
    """

    kernel: Kernel
    form: Form = "u"
    variances: bool = True
    weighted: bool = False
    tiles: Tiles = tiled_sums

    def __call__(self, *kept: KeptRows, between: Callable[[], None] = lambda: None) -> BlockStatistics:
        """Statistics of the blocks, which are paired by number if there are several samples.

        `between` is called before each block: it may raise to stop the work.
        """
        blocks = []
        for cell in range(kept[0].n_cells):
            between()
            blocks.append(self._one([rows.rows(cell) for rows in kept]))
        sizes, n_tuples, means, variance, components, mass = zip(*blocks, strict=True)
        return BlockStatistics(
            np.array(sizes, np.int64),
            tuple(n_tuples),
            np.array(means),
            np.array(variance),
            np.array(components),
            np.array(mass, np.float64),
        )

    def merge(self, left: BlockStatistics, right: BlockStatistics) -> BlockStatistics:
        """Blocks of both; `left` has the lower numbers."""
        return left.followed_by(right)

    def _one(self, rows: list[Floats]) -> tuple[Any, ...]:
        """For one block: sizes, tuples, means of parts, variance, its components and weight of tuples."""
        kernel = self.kernel
        weights: Weights = None
        if self.weighted:
            weights = tuple(np.ascontiguousarray(one[:, -1]) for one in rows)
            rows = [one[:, :-1] for one in rows]
        samples = [kernel.as_sample(one) for one in rows]
        sizes = tuple(sample.shape[0] for sample in samples)
        taken = {(part.kernel.degrees, part.samples) for part in kernel.parts}
        n_tuples = sum(count_tuples(degrees, tuple(sizes[s] for s in those)) for degrees, those in taken)
        mass = tuple_mass(kernel.degrees, sizes, weights)
        shape = kernel.shape(1 if samples[0].ndim == 1 else samples[0].shape[1])
        variance, components = np.full(shape, np.nan), [np.nan] * COMPONENTS
        if any(np.isnan(sample).any() for sample in samples):
            return sizes, n_tuples, np.full((len(kernel.parts), *shape), np.nan), variance, components, mass
        enough = self.variances and all(n > d for n, d in zip(sizes, kernel.degrees, strict=True))
        sums = block_sums(kernel, *samples, rows=enough, weights=weights, tiles=self.tiles)
        means = np.array([part.mean for part in self._in_form(sums, samples, weights)], np.float64)
        if enough:
            variance, components = self._variance(sums, sizes, weights)
        return sizes, n_tuples, means, variance, components, mass

    def _in_form(
        self, sums: tuple[PairSums, ...], samples: list[Floats], weights: Weights
    ) -> tuple[PairSums, ...]:
        if self.form == "u" or min(sample.shape[0] for sample in samples) == 0:
            return sums
        found = []
        for part, one in zip(self.kernel.parts, sums, strict=True):
            chosen = [samples[i] for i in part.samples]
            masses = None if weights is None else tuple(weights[i] for i in part.samples)
            found.append(part.kernel.v_form(one._replace(row_means=None), *chosen, weights=masses))
        return tuple(found)

    def _variance(
        self, sums: tuple[PairSums, ...], sizes: tuple[int, ...], weights: Weights
    ) -> tuple[Any, list[float]]:
        """Variance of the statistic of a block of this size, and its components.

        Negative components count as 0, so that noise does not shorten the interval. For weighted rows it is
        the jackknife variance.
        """
        components = [np.nan] * COMPONENTS
        if is_quotient(self.kernel):
            parts = jackknife_of_parts(self.kernel, sums, weights)
            components = [float(v) for v in (parts[0, 0], parts[0, 1], parts[1, 1])]
        if weights is not None:
            return np.asarray(jackknife_variance(self.kernel, sums, weights), np.float64), components
        plain = len(self.kernel.parts) == 1 and np.ndim(sums[0].mean) == 0
        if plain and self.kernel.degrees == (2,):
            found = one_sample_variances(sums[0])
            components[:2] = found
            n = sizes[0]
            if np.isfinite(found).all():
                first, second = (max(v, 0.0) for v in found)
                return 4.0 * first / n + 2.0 * second / (n * (n - 1.0)), components
        if plain and self.kernel.degrees == (1, 1):
            between = two_sample_variances(sums[0])
            components[:] = between
            n1, n2 = sizes
            if np.isfinite(between).all():
                a, b, whole = (max(v, 0.0) for v in between)
                return ((n2 - 1) * a + (n1 - 1) * b + whole) / (float(n1) * n2), components
        return np.asarray(jackknife_variance(self.kernel, sums), np.float64), components
