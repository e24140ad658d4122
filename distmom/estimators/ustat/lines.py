"""Statistics of blocks in the form used by the rule of the mean: lines of block values with variances."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from distmom.estimators.mean.plan import MeanPlan
from distmom.estimators.mean.rule.answers import promise_of
from distmom.estimators.ustat.options import UStatOptions
from distmom.inference.adaptive import answer_rule
from distmom.inference.answers import BlockSource, RuleAnswer
from distmom.inference.estimate import Estimates
from distmom.inference.fieller import FiellerEnds, Quotients, fieller_ends
from distmom.numerics.arrays import Floats, Ints
from distmom.numerics.blocks.moments import Moments
from distmom.numerics.kernels.kernel import Ratio, is_quotient
from distmom.passes.counted import CellMap
from distmom.reductions.rows.block_kernel import BlockStatistics


@dataclass(frozen=True)
class BlockLines:
    """The blocks of all groups. For the rule, the entries of a matrix are the columns of a vector."""

    options: UStatOptions
    plan: MeanPlan  # of the first pass
    cells: CellMap
    blocks: BlockStatistics
    source: BlockSource  # what a block contains

    @cached_property
    def entries(self) -> tuple[Ints, Ints] | None:
        """Rows and columns of a matrix's entries: a triangle, or all entries for Frobenius distances."""
        if not self.options.kernel.shape(2):
            return None
        c = self.blocks.means.shape[-1]
        if self.options.joint == "geometric":
            a, b = np.indices((c, c)).reshape(2, -1)
            return a, b
        return np.triu_indices(c)

    def matrix(self, entries: Floats) -> Floats:
        """A symmetric matrix from its entries."""
        assert self.entries is not None
        c = self.blocks.means.shape[-1]
        a, b = self.entries
        out = np.empty((c, c))
        out[a, b] = out[b, a] = entries
        return out

    @cached_property
    def found(self) -> Estimates:
        """The rule of the mean applied to the statistics of the blocks."""
        promise = promise_of(self.plan)
        if self.entries is None:
            moments, d, method = self._moments(), 1, None
        else:
            moments, d, method = self._matrices(*self.entries), self.entries[0].size, self.options.joint
        intervals = ("ball",) if method == "geometric" else ("order", "cantelli")
        answer = self._answered(moments, intervals, promise.level(d, method), d)
        return Estimates(answer, promise, d, method)

    def _matrices(self, a: Ints, b: Ints) -> Moments:
        """The entries of all matrices, line by line; one non-finite entry makes its matrix non-finite."""
        values, variance = self._values[:, a, b], self.blocks.variance[:, a, b]
        values = np.where(np.isfinite(values).all(axis=1, keepdims=True), values, np.nan)
        each = [self._placed(values[:, d], variance[:, d]) for d in range(a.size)]
        stacked = (np.stack(arrays, axis=1) for arrays in zip(*each, strict=True))
        return Moments(*(array.reshape(-1, *array.shape[2:]) for array in stacked))

    def _answered(
        self, moments: Moments, intervals: tuple[str, ...], level: float, n_columns: int = 1
    ) -> RuleAnswer:
        """The rule applied to the blocks of one partition, or of several."""
        given = self.plan.blocks.n_blocks
        return answer_rule(
            moments,
            None,
            None,
            level,
            n_blocks="auto" if given is None else given,
            block_source=self.source,
            intervals=intervals,
            outlying=self.plan.blocks.outlying,
            n_columns=n_columns,
        )

    @property
    def repeats(self) -> int:
        """Number of partitions."""
        return self.plan.blocks.layout.repeats

    def mine(self, g: int) -> slice:
        """The blocks of group g, in all partitions."""
        starts = self.cells.starts * self.repeats
        return slice(int(starts[g]), int(starts[g + 1]))

    def _moments(self) -> Moments:
        """The statistics of all blocks; linearised for a ratio that is taken to first order."""
        if self.point is None or not is_quotient(self.options.kernel):
            return self._placed(self._values, self.blocks.variance)
        ratio: Floats = np.asarray(self.options.kernel.combine(*self.point), np.float64)
        return self._placed(*self._quotients.linearised(ratio, self.point[1]))

    def _placed(self, values: Floats, variance: Floats) -> Moments:
        """Values of all blocks, and their variances, as moments: a line for each group (and partition).

        If V is the variance of a block of n rows, n (n - 1) V replaces the second moment: merging blocks then
        gives the variance of the mean of their statistics.
        """
        given, repeats = self.plan.blocks.n_blocks, self.repeats
        width = self.cells.cells.shape[1] if given is None else given
        n_groups = self.cells.n_blocks.size
        each = np.repeat(self.cells.n_blocks, repeats)
        line = np.repeat(np.arange(n_groups * repeats), each)
        place = np.arange(line.size) - (np.cumsum(each) - each)[line]
        n = self.blocks.sizes.sum(axis=1)
        filled = (self.blocks.sizes >= np.array(self.options.kernel.degrees)).all(axis=1)
        shape = (n_groups * repeats, width)
        out = Moments(np.zeros(shape, np.int64), np.full(shape, np.nan), np.full(shape, np.nan))
        with np.errstate(invalid="ignore", over="ignore"):
            m2 = variance * n * (n - 1.0)
        out.count[line, place] = np.where(filled, n, 0)
        out.mean[line, place] = values
        out.m2[line, place] = m2
        return out if repeats == 1 else out.each(lambda a: a.reshape(n_groups, repeats, width))

    @property
    def _values(self) -> Floats:
        """The statistic of each block.

        The automatic rule averages blocks, and averages of ratios have the bias of small blocks. So ratios
        are linearised about a point.
        """
        kernel, parts = self.options.kernel, np.moveaxis(self.blocks.means, 1, 0)
        if self.point is None:
            return np.asarray(kernel.combine(*parts), np.float64)
        at = tuple(one[self._group] for one in self.point)
        alone = np.repeat(self.cells.n_blocks, self.cells.n_blocks * self.repeats) == 1
        return np.asarray(
            np.where(alone, kernel.combine(*parts), kernel.linear(at, tuple(parts))), np.float64
        )

    @cached_property
    def _group(self) -> Ints:
        """The group of each block."""
        return np.repeat(np.arange(self.cells.n_blocks.size), self.cells.n_blocks * self.repeats)

    @cached_property
    def point(self) -> tuple[Floats, ...] | None:
        """For each group the robust means of the parts of a ratio, if its blocks are linearised.

        They come from the rule, which averages blocks: the median of the denominators of small blocks may be
        0.
        """
        kernel = self.options.kernel
        if self.plan.blocks.n_blocks is not None or not isinstance(kernel, Ratio) or kernel.shape(2):
            return None
        unknown = np.full(self._group.size, np.nan)
        means = [self._placed(self.blocks.means[:, p], unknown) for p in range(len(kernel.parts))]
        level = self.plan.options.confidence_level
        return tuple(self._answered(one, (), level).estimate for one in means)

    @cached_property
    def _quotients(self) -> Quotients:
        """Numerators and denominators of all blocks."""
        numerator, denominator = self.blocks.means.T
        return Quotients(numerator, denominator, self.blocks.components, self._group)

    @cached_property
    def fieller(self) -> FiellerEnds:
        """Cantelli intervals of ratios."""

        def rule(values: Floats, variance: Floats) -> RuleAnswer:
            return self._answered(
                self._placed(values, variance), ("cantelli",), self.plan.options.confidence_level
            )

        return fieller_ends(self._quotients, self.found.answer.estimate, rule)
