"""Ways to take a robust mean over pairs of rows, planned without data: blocks, pairs, widths, time."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from distmom.errors import ConfigError
from distmom.estimators.ustat.cost import in_words, seconds_for
from distmom.numerics.kernels.evaluate import one_by_one
from distmom.numerics.kernels.kernel import Kernel
from distmom.report.plan_result import PlannedWay
from distmom.theory import (
    best_blocks,
    default_tuples,
    incomplete_variance,
    morm_blocks,
    pair_inverse_inclusion,
    partition_halfwidth,
    resampled_halfwidth,
    row_inverse_inclusion,
    rows_for_way,
    ustatistic_variance,
)

SORTED_ROWS_PER_SECOND = 1e7
"""Rows a second and thread of a kernel with a fast form: mostly sorting."""


@dataclass(frozen=True)
class PairPlanner:
    """What all ways depend on.

    Attributes
    ----------
    kernel : Kernel
    n_rows : int
    delta : float
    pair_budget : int
    share : float
        Of the kernel's variance, that of its projections on one row: 2 sigma_1^2 / Var h.
    tau, kappa : float
    threads : int
    width : float or None
        Half-width wanted, in standard deviations of the kernel: ways then are the cheapest ones that have it,
        or the narrowest where none has.
    """

    kernel: Kernel
    n_rows: int
    delta: float
    pair_budget: int
    share: float
    tau: float
    kappa: float
    threads: int
    width: float | None = None

    def ways(self, n_blocks: int | None) -> list[PlannedWay]:
        """All that are possible, the partition first; those above the budget are told, too."""
        makers: list[Callable[[PairPlanner], PlannedWay]] = [lambda planner: planner._partition(n_blocks)]
        if self._slow:
            affordable = math.ceil(self.n_rows**2 / (2 * self.pair_budget)) | 1
            if affordable > (n_blocks or self._best_blocks):
                makers.append(lambda planner: planner._partition(affordable))
        makers += [
            lambda planner: planner._disjoint(n_blocks),
            PairPlanner._sampled_rows,
            PairPlanner._sampled_pairs,
        ]
        found, refusals = [], []
        for make in makers:
            try:
                found.append(replace(make(self), rows_for_width=self._rows_for(make)))
            except ConfigError as error:
                refusals.append(error)
        if not found:
            raise refusals[0]
        return found

    def _rows_for(self, make: Callable[[PairPlanner], PlannedWay]) -> int | None:
        """Rows with which a way has the half-width wanted."""
        if self.width is None:
            return None
        return rows_for_way(lambda n: make(replace(self, n_rows=n, width=None)), self.width)

    def recommended(self, ways: list[PlannedWay]) -> tuple[PlannedWay, str]:
        """The narrowest that the budget allows, and why."""
        good = [way for way in ways if (way.n_pairs or 0) <= self.pair_budget and way.exact is not None]
        first = ways[0]
        if not good:
            return first, "no way is within the pair budget and has a bound; allow more pairs or fewer rows"
        best = min(good, key=lambda way: way.exact or math.inf)
        if self.width is not None:
            wide = [way for way in good if _narrow(way.exact, self.width)]
            if wide:
                return min(wide, key=lambda way: way.seconds), "the half-width wanted at the least time"
            needed = [way.rows_for_width for way in good if way.rows_for_width is not None]
            more = f"that takes {min(needed):,} rows" if needed else "no number of rows suffices"
            return best, f"the narrowest within pair_budget={self.pair_budget:.2g}, wider than wanted: {more}"
        if not self._slow:
            return (
                best,
                f"kernel {self.kernel.name!r} has a fast form: all pairs of a block cost a sort of its rows",
            )
        if (first.n_pairs or 0) <= self.pair_budget:
            return best, "the narrowest interval of these"
        return best, (
            f"the narrowest interval within pair_budget={self.pair_budget:.2g}; all pairs of "
            f"{first.n_blocks:,} blocks are {first.n_pairs:.2g} and take {in_words(first.seconds)} or so"
        )

    @property
    def _slow(self) -> bool:
        kernel = self.kernel
        return bool(one_by_one(kernel, kernel.columns or max(2, kernel.least_columns)))

    def _block_variance(self, rows: int) -> float:
        return ustatistic_variance(rows, (self.share / 2.0, 1.0))

    def _seconds(self, n_pairs: int, rows: int) -> float:
        return seconds_for(self.kernel, n_pairs, self.threads) + rows / SORTED_ROWS_PER_SECOND / self.threads

    def _cheapest(self, steps: int, half: Callable[[int], float]) -> int:
        """Steps away from the narrowest towards the cheapest, as many as leave the half-width wanted."""
        if self.width is None or not _narrow(half(0), self.width):
            return 0
        low, high = 0, steps + 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if _narrow(half(middle), self.width) else (low, middle)
        return low

    @property
    def _best_blocks(self) -> int:
        return best_blocks(self.n_rows // 2, self.delta)

    def _partition(self, k: int | None) -> PlannedWay:
        def half(blocks: int) -> float:
            return partition_halfwidth(self._block_variance(self.n_rows // blocks), blocks, self.delta)

        if k is None:  # of the odd numbers, the most blocks: the fewest pairs
            least = self._best_blocks
            steps = self._cheapest((self.n_rows // 2 - least) // 2, lambda step: half(least + 2 * step))
            k = least + 2 * steps
        size = self._size(self.n_rows, k)
        n_pairs = k * math.comb(size, 2) if self._slow else 0
        options: dict[str, object] = {"n_blocks": k}
        return self._way("all pairs of a partition", options, k, size, n_pairs, half(k), self.n_rows)

    def _disjoint(self, k: int | None) -> PlannedWay:
        k = self._best_blocks if k is None else k
        size = self._size(self.n_rows, k)
        exact = partition_halfwidth(1.0 / (size // 2), k, self.delta)
        options = {"pairs": "disjoint", "n_blocks": k}
        return self._way("disjoint pairs", options, k, size, k * (size // 2), exact, self.n_rows)

    def _sampled_rows(self) -> PlannedWay:
        k, most = morm_blocks(1.0 - self.delta, self.tau, self.n_rows, 2, self.kappa)

        def half(size: int) -> float:
            inverse = row_inverse_inclusion(self.n_rows, size, replacement=False)
            return resampled_halfwidth(self._block_variance(size), k, inverse, self.delta)

        size = most - self._cheapest(most - 2, lambda step: half(most - step))
        n_pairs = k * math.comb(size, 2) if self._slow else 0
        options = {"scheme": "swor", "n_blocks": k, "block_size": size}
        return self._way("all pairs of samples of rows", options, k, size, n_pairs, half(size), k * size)

    def _sampled_pairs(self) -> PlannedWay:
        k, _ = morm_blocks(1.0 - self.delta, self.tau, self.n_rows, 2, self.kappa)
        within = max(1, self.pair_budget // k)
        most = min(default_tuples(self.n_rows, k, replacement=False), within)

        def half(pairs: int) -> float:
            complete = self._block_variance(self.n_rows)
            variance = incomplete_variance(complete, 1.0, self.n_rows, pairs, replacement=False)
            inverse = pair_inverse_inclusion(self.n_rows, pairs, replacement=False)
            return resampled_halfwidth(variance, k, inverse, self.delta)

        if self.width is not None and not _narrow(half(most), self.width):  # more than by default
            budget = 2 * self.pair_budget
            more = min(default_tuples(self.n_rows, k, replacement=False, budget=budget), within)
            most = more if _narrow(half(more), self.width) else most
        m = most - self._cheapest(most - 1, lambda step: half(most - step))
        options = {"pairs": "incomplete", "scheme": "swor", "n_blocks": k, "n_pairs": m}
        return self._way("samples of pairs", options, k, m, k * m, half(m), 2 * k * m)

    def _size(self, n: int, k: int) -> int:
        if n // k < 2:
            raise ConfigError(f"n_blocks: {k:,} blocks of {n:,} rows have no pairs; use at most {n // 2:,}")
        return n // k

    def _way(
        self, name: str, options: dict[str, object], k: int, size: int, n_pairs: int, exact: float, rows: int
    ) -> PlannedWay:
        survives = (k - 1) // 2 if options.get("scheme") is None else 0
        seconds = self._seconds(n_pairs, rows)
        return PlannedWay(
            name, options, k, size, exact, None, None, survives, rows, None, seconds, n_pairs=n_pairs
        )


def _narrow(half: float | None, width: float) -> bool:
    return half is not None and half <= width


def plan_kernel(kernel: Kernel) -> Kernel:
    """The kernel, which must be of pairs of rows of one sample.

    Raises
    ------
    ConfigError
        If it is of others.
    """
    if any(part.kernel.degrees != (2,) for part in kernel.parts) or len(kernel.degrees) != 1:
        raise ConfigError(
            f"kernel: plans are for pairs of rows of one sample, and {kernel.name!r} takes others; "
            "use explain_ustatistic, or distmom ustat --dry-run, with the data"
        )
    return kernel
