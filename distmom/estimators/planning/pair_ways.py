"""Ways to take a robust mean over pairs of rows, planned without data: blocks, pairs, widths, time."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from distmom.designs.blocks import SampledBlocks
from distmom.designs.pairs import DisjointPairs, SampledPairs
from distmom.errors import ConfigError
from distmom.estimators.planning.ways import possible_ways
from distmom.estimators.ustat.cost import in_words, seconds_for
from distmom.numerics.kernels.evaluate import one_by_one
from distmom.numerics.kernels.kernel import Kernel
from distmom.report.kinds.plan import PlannedWay
from distmom.theory.paper import morm_blocks
from distmom.theory.partition import partition_halfwidth
from distmom.theory.planning import best_blocks
from distmom.theory.resampled import resampled_halfwidth
from distmom.theory.tuples import default_tuples, incomplete_variance, pair_inverse_inclusion
from distmom.theory.variances import row_inverse_inclusion, ustatistic_variance

SORTED_ROWS_PER_SECOND = 1e7
"""Rows a second and thread of a kernel with a fast form: mostly sorting."""

SHARE = 0.5
"""Of the kernel's variance, that of its projections on one row, 2 sigma_1^2 / Var h: 0.45 for Gini's
difference of normal rows."""


@dataclass(frozen=True)
class PairPlanner:
    """What all ways depend on."""

    kernel: Kernel
    n_rows: int
    delta: float
    pair_budget: int
    tau: float

    def ways(self, n_blocks: int | None, width: float | None) -> list[PlannedWay]:
        """All that are possible, the partition first; those above the budget are told, too."""
        makers: list[Callable[[int], PlannedWay]] = [lambda n: self._of(n)._partition(n_blocks)]
        affordable = math.ceil(self.n_rows**2 / (2 * self.pair_budget)) | 1
        if self._slow and affordable > (n_blocks or self._best_blocks):
            makers.append(lambda n: self._of(n)._partition(affordable))
        makers += [
            lambda n: self._of(n)._disjoint(n_blocks),
            lambda n: self._of(n)._sampled_rows(),
            lambda n: self._of(n)._sampled_pairs(),
        ]
        return possible_ways(makers, self.n_rows, width)[0]

    def _of(self, n_rows: int) -> PairPlanner:
        return replace(self, n_rows=n_rows)

    def recommended(self, ways: list[PlannedWay], width: float | None) -> tuple[PlannedWay, str]:
        """The narrowest that the budget allows, or the quickest with the half-width wanted, and why."""
        good = [way for way in ways if (way.n_pairs or 0) <= self.pair_budget and way.exact is not None]
        first = ways[0]
        if not good:
            return first, "no way is within the pair budget and has a bound; allow more pairs or fewer rows"
        best = min(good, key=lambda way: way.exact or math.inf)
        if width is not None:
            narrow = [way for way in good if way.exact is not None and way.exact <= width]
            if narrow:
                return min(narrow, key=lambda way: way.seconds), "the half-width wanted at the least time"
            needed = [way.rows_for_width for way in good if way.rows_for_width is not None]
            more = f"that takes {min(needed):,} rows" if needed else "no number of rows suffices"
            return (
                best,
                f"the narrowest within the budget of {self.pair_budget:.2g}, wider than wanted: {more}",
            )
        if not self._slow:
            name = self.kernel.name
            return best, f"kernel {name!r} has a fast form: all pairs of a block cost a sort of its rows"
        if (first.n_pairs or 0) <= self.pair_budget:
            return best, "the narrowest interval of these"
        return best, (
            f"the narrowest interval within the budget of {self.pair_budget:.2g}; all pairs of "
            f"{first.n_blocks:,} blocks are {first.n_pairs:.2g} and take {in_words(first.seconds)} or so"
        )

    @property
    def _slow(self) -> bool:
        kernel = self.kernel
        return bool(one_by_one(kernel, kernel.columns or max(2, kernel.least_columns)))

    @property
    def _best_blocks(self) -> int:
        return best_blocks(self.n_rows // 2, self.delta)

    def _block_variance(self, rows: int) -> float:
        return ustatistic_variance(rows, (SHARE / 2.0, 1.0))

    def _partition(self, k: int | None) -> PlannedWay:
        k = self._best_blocks if k is None else k
        size = self._size(k)
        exact = partition_halfwidth(self._block_variance(size), k, self.delta)
        n_pairs = k * math.comb(size, 2) if self._slow else 0
        return self._way("all pairs of a partition", {"blocks": k}, k, size, n_pairs, exact, self.n_rows)

    def _disjoint(self, k: int | None) -> PlannedWay:
        k = self._best_blocks if k is None else k
        size = self._size(k)
        exact = partition_halfwidth(1.0 / (size // 2), k, self.delta)
        options = {"pairs": DisjointPairs(), "blocks": k}
        return self._way("disjoint pairs", options, k, size, k * (size // 2), exact, self.n_rows)

    def _sampled_rows(self) -> PlannedWay:
        k, size = morm_blocks(1.0 - self.delta, self.tau, self.n_rows, 2)
        inverse = row_inverse_inclusion(self.n_rows, size, replacement=False)
        exact = resampled_halfwidth(self._block_variance(size), k, inverse, self.delta)
        n_pairs = k * math.comb(size, 2) if self._slow else 0
        options: dict[str, object] = {"blocks": SampledBlocks(k, size)}
        return self._way("all pairs of samples of rows", options, k, size, n_pairs, exact, k * size)

    def _sampled_pairs(self) -> PlannedWay:
        n = self.n_rows
        k, _ = morm_blocks(1.0 - self.delta, self.tau, n, 2)
        m = min(default_tuples(n, k, replacement=False), max(1, self.pair_budget // k))
        variance = incomplete_variance(self._block_variance(n), 1.0, n, m, replacement=False)
        inverse = pair_inverse_inclusion(n, m, replacement=False)
        exact = resampled_halfwidth(variance, k, inverse, self.delta)
        options = {"pairs": SampledPairs(m), "blocks": k}
        return self._way("samples of pairs", options, k, m, k * m, exact, 2 * k * m)

    def _size(self, k: int) -> int:
        n = self.n_rows
        if n // k < 2:
            raise ConfigError(f"blocks: {k:,} blocks of {n:,} rows have no pairs; use at most {n // 2:,}")
        return n // k

    def _way(
        self, name: str, options: dict[str, object], k: int, size: int, n_pairs: int, exact: float, rows: int
    ) -> PlannedWay:
        sampled = isinstance(options["blocks"], SampledBlocks) or isinstance(
            options.get("pairs"), SampledPairs
        )
        survives = 0 if sampled else (k - 1) // 2
        seconds = seconds_for(self.kernel, n_pairs, 1) + rows / SORTED_ROWS_PER_SECOND
        return PlannedWay(name, options, k, size, exact, None, None, survives, rows, seconds, n_pairs=n_pairs)


def plan_kernel(kernel: Kernel) -> Kernel:
    """The kernel, which must be of pairs of rows of one sample.

    ConfigError if it is of others.
    """
    if any(part.kernel.degrees != (2,) for part in kernel.parts) or len(kernel.degrees) != 1:
        raise ConfigError(
            f"kernel: plans are for pairs of rows of one sample, and {kernel.name!r} takes others; "
            "use explain(ustatistic, …), or distmom ustat --dry-run, with the data"
        )
    return kernel
