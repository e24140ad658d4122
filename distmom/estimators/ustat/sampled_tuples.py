"""Incomplete U-statistics of a lake: samples of pairs (or larger tuples) drawn from all pairs of its rows."""

from __future__ import annotations

from collections.abc import Iterator
from math import comb
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from distmom.cluster.work import SkippedFile
from distmom.errors import ConfigError, NoAnswerError
from distmom.estimators.options import check_count
from distmom.estimators.ustat.gather import RowSource, gather_rows
from distmom.estimators.ustat.tuple_samples import Gathered, SampledTuples, lower_medians
from distmom.numerics.kernels.kernel import Kernel
from distmom.numerics.kernels.sums import Floats
from distmom.numerics.kernels.tuples import TupleMoments, part_weights, row_spreads
from distmom.numerics.labels import COMPILE
from distmom.numerics.random import permutation, stream_key
from distmom.numerics.sampled_leaf import leaf_sample
from distmom.numerics.tuple_draws import sample_tuples
from distmom.numerics.wanted_rows import distinct

if TYPE_CHECKING:
    from distmom.cluster import Progress
    from distmom.reductions.gather import GatheredRows

Ints: TypeAlias = NDArray[np.int64]
Places: TypeAlias = tuple[NDArray[np.intp], ...]
"""Of the first rows of the tuples of a sample, of the second ones, and so on."""

MOST_ROWS = 10_000_000
"""Rows drawn for samples that are gathered together; more take another pass over the files that hold them."""

GROUPS, GROUP_ROWS = 31, {2: 256, 3: 40, 4: 24, 5: 19, 6: 17}
"""Groups of rows, and rows of each by the kernel's degree: their row means tell what the rows vary by."""

GROUP_ROWS_OF_MORE = 16
"""Of kernels of more rows."""

PURPOSES = {2: "pairs", 3: "triples"}
"""What keys the draws; for other degrees that has their number."""


def sampled_tuples(
    kernel: Kernel,
    source: RowSource,
    seed: int,
    n_blocks: int,
    n_tuples: int,
    *,
    replace: bool = False,
    spread: bool = True,
    compiled: bool = True,
    progress: Progress | None = None,
) -> list[SampledTuples]:
    """Incomplete U-statistics: K samples of M pairs, uniform over all pairs of rows of a lake.

    Parameters
    ----------
    kernel : Kernel
        Of one sample.
    source : RowSource
        The lake, its rows counted; its columns are the kernel's, or each for itself (`RowSource.separate`).
    seed : int
        128 bits.
    n_blocks, n_tuples : int
        K, M.
    replace : bool
        Whether pairs may repeat (``monte_carlo``); else the pairs of a sample are distinct (``swor``).
    spread : bool
        Whether to take what the variance of the complete statistic is estimated from, for an interval.
    compiled : bool
        Draw with Numba (the same pairs).
    progress : Progress, optional

    Returns
    -------
    list of SampledTuples
        One, or one for each of the separate columns, which share the pairs drawn.

    Raises
    ------
    ConfigError
        If the kernel takes several samples or other degrees, or more pairs are asked for than there are.
    NoAnswerError
        If the lake has too few rows.
    ResourceError
        If the rows of one sample do not fit into memory.

    Notes
    -----
    Pairs are drawn from all n (n - 1)/2 pairs of the lake, those across files included, by the row numbers of
    ``numerics/pairs.py``; the number of pairs is a Python integer, so n may exceed 5e9. A pair of which a row
    does not count (null, NaN, dropped by the filter) is left out: the others are uniform over the pairs of
    rows that count. Memory O(K M) up to ten million rows drawn, then a further pass for the next samples.
    Row numbers, sums and their order depend on seed and lake alone.
    """
    degree = _check_kernel(kernel, source)
    _check_numbers(source.n_rows, degree, n_blocks, n_tuples, replace)
    key = stream_key(seed, PURPOSES.get(degree, f"tuples of {degree}"))
    found = [_Column(kernel, seed, spread) for _ in range(source.n_columns if source.separate else 1)]
    skipped = dict[SkippedFile, None]()
    for blocks in _passes(n_blocks, n_tuples * degree):
        tuples = [
            sample_tuples(key, block, source.n_rows, degree, n_tuples, replace=replace, compiled=compiled)
            for block in blocks
        ]
        wanted = distinct(np.concatenate([side for sides in tuples for side in sides]))
        places = [tuple(places_of(side, wanted) for side in sides) for sides in tuples]
        rows, bad = gather_rows(source, wanted, progress)
        skipped |= dict.fromkeys(bad)
        for c, column in enumerate(found):
            column.add(rows.column(c) if source.separate else rows, places)
    shared: dict[str, Any] = {
        "kernel": kernel,
        "n_rows": source.n_rows,
        "n_asked": n_tuples,
        "replace": replace,
        "skipped": tuple(skipped),
    }
    return [column.samples(shared) for column in found]


class _Column:
    """What the samples of one column are so far."""

    def __init__(self, kernel: Kernel, seed: int, spread: bool) -> None:
        self._kernel, self._seed, self._spread = kernel, seed, spread
        self._moments: list[TupleMoments] = []
        self._groups: list[Floats] = []
        self._gathered = Gathered()

    def add(self, rows: GatheredRows, places: list[Places]) -> None:
        """Further samples: of each the places, among the rows gathered, of the rows of its tuples."""
        self._gathered = self._gathered.plus(rows)
        values = self._kernel.as_sample(rows.values)
        used = rows.used
        self._moments += [_moments(self._kernel, values, used, sides) for sides in places]
        if self._spread and not self._groups:
            self._groups = _groups(self._kernel, values[used], self._seed)

    def samples(self, shared: dict[str, Any]) -> SampledTuples:
        """All samples, with what all columns share."""
        moments = TupleMoments.joined(self._moments)
        values = moments.values(self._kernel)
        weights = part_weights(self._kernel, *lower_medians(moments.mean))
        groups = self._groups
        nothing = np.empty((0, *values.shape[1:]))
        return SampledTuples(
            moments=moments,
            values=values,
            gathered=self._gathered,
            spreads=row_spreads(self._kernel, groups, weights) if groups else nothing,
            group_rows=groups[0].shape[0] if groups else 0,
            **shared,
        )


def _check_kernel(kernel: Kernel, source: RowSource) -> int:
    """The kernel's degree; ConfigError if its tuples are not drawn."""
    if len(kernel.degrees) != 1 or kernel.degrees[0] < 2:
        raise ConfigError(
            f"pairs='incomplete' is for kernels of one sample, and {kernel.name!r} takes "
            f"{' and '.join(map(str, kernel.degrees))} rows; use pairs='complete'"
        )
    if not source.separate:
        kernel.check_columns(source.n_columns)
    return int(kernel.degrees[0])


def _check_numbers(n_rows: int, degree: int, n_blocks: int, n_tuples: int, replace: bool) -> None:
    check_count("n_blocks", n_blocks)
    check_count("n_pairs", n_tuples)
    if n_rows < degree:
        raise NoAnswerError(f"the data has {n_rows} rows, and the kernel takes {degree}; give more rows")
    there_are = comb(n_rows, degree)
    if not replace and n_tuples > there_are:
        raise ConfigError(
            f"n_pairs: {n_tuples:,} without repeats are more than the {there_are:,} that {n_rows:,} rows "
            "have; lower it, or use scheme='monte_carlo'"
        )


def _passes(n_blocks: int, rows_of_block: int) -> Iterator[range]:
    """Ranges of blocks whose rows are gathered together."""
    step = max(1, MOST_ROWS // rows_of_block)
    for start in range(0, n_blocks, step):
        yield range(start, min(start + step, n_blocks))


def columns_at_once(n_rows: int, n_blocks: int, rows_of_block: int) -> int:
    """Separate columns whose rows of a pass may be gathered together: no more values than of one column."""
    in_pass = min(n_blocks, max(1, MOST_ROWS // rows_of_block)) * rows_of_block
    return max(1, MOST_ROWS // min(n_rows, in_pass))


def _moments(kernel: Kernel, values: Floats, used: NDArray[np.bool_], places: Places) -> TupleMoments:
    """Moments of one sample over the tuples of rows that count."""
    if not used.all():
        keep = np.logical_and.reduce([used[place] for place in places])
        places = tuple(place[keep] for place in places)
    return TupleMoments.of(kernel, *(values[place] for place in places))


def places_of(numbers: Ints, wanted: Ints) -> NDArray[np.intp]:
    """Where numbers stand in an ascending list that holds them all; sorted first, which finds them faster."""
    if (numbers[1:] >= numbers[:-1]).all():
        return np.searchsorted(wanted, numbers)
    order = np.argsort(numbers, kind="stable")
    places = np.empty(numbers.size, np.intp)
    places[order] = np.searchsorted(wanted, numbers[order])
    return places


def _groups(kernel: Kernel, used: Floats, seed: int) -> list[Floats]:
    """Some of the rows that count, in random groups; none where there are too few of them."""
    least = max(5, kernel.degrees[0] + 1)
    n = used.shape[0]
    if n < least:
        return []
    size = min(GROUP_ROWS.get(kernel.degrees[0], GROUP_ROWS_OF_MORE), max(least, n // GROUPS))
    n_groups = min(GROUPS, n // size)
    key = stream_key(seed, "tuples/groups")
    chosen = leaf_sample(key, 0, 0, n, n_groups * size)
    chosen = chosen[permutation(key, 1, chosen.size, compiled=chosen.size > COMPILE)]
    return [used[part] for part in np.split(chosen, n_groups)]
