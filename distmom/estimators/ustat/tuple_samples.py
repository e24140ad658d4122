"""Samples of pairs: their values, the pairs left out, and the inputs of the bound on their median."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from distmom.cluster import Progress
from distmom.numerics.arrays import Floats
from distmom.numerics.blocks.labels import COMPILE, repeat_seed
from distmom.numerics.kernels.kernel import Kernel
from distmom.numerics.kernels.sums import Value, count_tuples
from distmom.numerics.kernels.tuples import (
    TupleMoments,
    complete_variance,
    part_weights,
    row_spreads,
    sample_spreads,
)
from distmom.numerics.median import lower_median
from distmom.numerics.random.philox import permutation, stream_key
from distmom.numerics.samples.sampled_leaf import leaf_sample
from distmom.passes.draws import DrawPlan, evaluate_draws
from distmom.passes.gather import RowSource
from distmom.reductions.rows.gather import GatheredRows
from distmom.reductions.rows.tuple_kernel import TupleKernel
from distmom.theory.resampled import resampled_margin
from distmom.theory.tuples import incomplete_variance, pair_inverse_inclusion
from distmom.theory.variances import two_sample_variance

GROUPS, GROUP_ROWS = 31, {2: 256, 3: 40, 4: 24, 5: 19, 6: 17}
"""Groups of rows, and rows of each sample per group, by the total number of rows that the kernel (its largest
part) takes: their row means show the variation of the rows."""

GROUP_ROWS_OF_MORE = 16
"""The same for kernels of more rows."""


@dataclass(eq=False)
class SampledTuples:
    """K samples of M pairs: their values, and the inputs of the bound on their median."""

    kernel: Kernel
    n_asked: int  # pairs M drawn for each sample
    replace: bool  # whether pairs may repeat
    groups: list[tuple[Floats, ...]]  # of rows of each lake that count; none if there are too few
    moments: TupleMoments  # of the pairs whose rows all count

    @property
    def values(self) -> Floats:
        """The statistic of each sample, shape (K, ...); NaN if no pair counts."""
        return self.moments.values(self.kernel)

    @cached_property
    def spreads(self) -> Floats:
        """Variances of the row means of each group (see `complete_variance`), shape (groups, ...).

        For several lakes, shape (groups, lakes, ...); see `sample_spreads`.
        """
        if len(self.kernel.degrees) > 1:
            return sample_spreads(self.kernel, self.groups)
        return row_spreads(self.kernel, [rows for (rows,) in self.groups], self._weights())

    @property
    def n_blocks(self) -> int:
        """Number of samples."""
        return int(self.moments.count.size)

    @property
    def n_dropped(self) -> int:
        """Pairs left out, over all samples, because one of their rows does not count."""
        return self.n_asked * self.n_blocks - int(self.moments.count.sum())

    def variances(self, n_used: Sequence[int]) -> tuple[Floats, Floats]:
        """Estimates of the variance of the complete statistic and of the kernel, of the kernel's shape.

        `n_used` are the numbers of rows that count. The estimates are medians over groups and samples, so
        that few outlying rows do not move them; for ratios they are variances of the linearised kernel. NaN
        if there are too few rows.
        """
        weights = self._weights()
        with np.errstate(invalid="ignore", over="ignore"):
            kernel_variance = lower_median(self.moments.variance(weights), axis=0)
            if not self.groups:
                return np.full_like(kernel_variance, np.nan), kernel_variance
            return np.asarray(self._complete(kernel_variance, n_used)), kernel_variance

    def _complete(self, kernel_variance: Floats, n_used: Sequence[int]) -> Value:
        """The variance of the complete statistic of `n_used` rows of each lake."""
        spread, degrees = lower_median(self.spreads, axis=0), self.kernel.degrees
        if len(degrees) == 1:
            size = self.groups[0][0].shape[0]
            return complete_variance(spread, kernel_variance, degrees[0], size, float(n_used[0]))
        if degrees == (1, 1) and len(self.kernel.parts) == 1:
            first, other = (min(float(one), float(kernel_variance)) for one in spread)
            return two_sample_variance((n_used[0], n_used[1]), first, other, float(kernel_variance))
        return sum(one / n for one, n in zip(spread, n_used, strict=True))

    def _weights(self) -> tuple[Floats, ...]:
        return part_weights(self.kernel, *lower_median(self.moments.mean, axis=0))

    def margin(self, delta: float, n_used: Sequence[int]) -> float:
        """Margin of error of the ``cantelli`` interval around the median of values of a kernel.

        NaN if the variance is unknown.

        Notes
        -----
        `theory.resampled_margin` with the variance of one sample's value, ``Var(U_n) + (N - M)/(N - 1) (Var h
        - Var U_n)/M`` without and ``(1 - 1/M) Var(U_n) + Var(h)/M`` with replacement. M are the pairs of the
        smallest sample, and a = 1/pi, where pi is the probability that the largest sample uses a given row
        (of the most densely sampled lake, if there are several). Samples without a pair do not count. The
        variances are estimated, so the statement is asymptotic.
        """
        var_u, var_h = (float(one) for one in self.variances(n_used))
        filled = self.moments.count[self.moments.count > 0]
        if not (filled.size and np.isfinite(var_u) and np.isfinite(var_h)):
            return float("nan")
        smallest, largest = int(filled.min()), int(filled.max())
        how: Any = {"replacement": self.replace, "degree": self.kernel.degrees}
        rows = tuple(n_used) if self.replace else _enough_rows(n_used, largest, self.kernel.degrees)
        a = pair_inverse_inclusion(rows, largest, **how)
        variance = incomplete_variance(min(var_u, var_h), var_h, rows, smallest, **how)
        return resampled_margin(variance, filled.size, a, delta)


def _enough_rows(n_rows: Sequence[int], n_tuples: int, degrees: tuple[int, ...]) -> tuple[int, ...]:
    """The smallest numbers of rows from which `n_tuples` tuples can be formed."""
    rows = tuple(n_rows)
    while count_tuples(degrees, rows) < n_tuples:
        rows = tuple(n + 1 for n in rows)
    return rows


def sampled_tuples(
    kernel: Kernel,
    plan: DrawPlan,
    sources: Sequence[RowSource],
    seed: int,
    *,
    replace: bool = False,
    spread: bool = True,
    progress: Progress | None = None,
) -> list[SampledTuples]:
    """K samples of M pairs, uniform over all pairs of rows of a lake: one result, or one per separate column.

    For several lakes a pair is a tuple with rows of each. A pair with a row that does not count (null, NaN,
    dropped by the filter) is left out; the others are uniform over the pairs of rows that count. With
    `spread`, rows for estimating the variance of the complete statistic, and so for an interval, are drawn
    too. Row numbers, sums and their order depend only on the seed and the lake.
    """
    if not sources[0].separate:
        kernel.check_columns(sources[0].n_columns)
    groups: dict[int, list[tuple[Floats, ...]]] = {}

    def look(c: int, rows: list[GatheredRows]) -> None:
        if spread and not groups.get(c):
            groups[c] = _groups(kernel, [kernel.as_sample(one.values)[one.used] for one in rows], seed)

    found = evaluate_draws(TupleKernel(kernel), plan, sources, progress, degrees=kernel.degrees, look=look)
    n_asked = plan.sizes[0] // kernel.degrees[0]
    return [SampledTuples(kernel, n_asked, replace, groups.get(c, []), one) for c, one in enumerate(found)]


def _groups(kernel: Kernel, used: list[Floats], seed: int) -> list[tuple[Floats, ...]]:
    """Some of the rows that count, in random groups for each sample; none if there are too few of them."""
    taken = max(sum(part.kernel.degrees) for part in kernel.parts)
    most = GROUP_ROWS.get(taken, GROUP_ROWS_OF_MORE)
    sizes, n_groups = [], GROUPS
    for rows, degree in zip(used, kernel.degrees, strict=True):
        n, least = rows.shape[0], max(5, degree + 1)
        if n < least:
            return []
        sizes.append(min(most, max(least, n // GROUPS)))
        n_groups = min(n_groups, n // sizes[-1])
    samples = []
    for t, (rows, size) in enumerate(zip(used, sizes, strict=True)):
        key = stream_key(repeat_seed(seed, t), "tuples/groups")
        chosen = leaf_sample(key, 0, 0, rows.shape[0], n_groups * size)
        chosen = chosen[permutation(key, 1, chosen.size, compiled=chosen.size > COMPILE)]
        samples.append([rows[part] for part in np.split(chosen, n_groups)])
    return list(zip(*samples, strict=True))
