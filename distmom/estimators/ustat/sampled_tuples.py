"""Incomplete U-statistics: samples of pairs (or larger tuples) drawn from all those of the rows of lakes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from distmom.cluster.work import SkippedFile
from distmom.errors import ConfigError, NoAnswerError
from distmom.estimators.options import check_count
from distmom.estimators.ustat.tuple_samples import Gathered, SampledTuples
from distmom.numerics.arrays import Bools, Floats, Ints
from distmom.numerics.blocks.labels import COMPILE, repeat_seed
from distmom.numerics.kernels.kernel import Kernel
from distmom.numerics.kernels.sums import count_tuples
from distmom.numerics.kernels.tuples import TupleMoments, part_weights, row_spreads, sample_spreads
from distmom.numerics.median import lower_median
from distmom.numerics.random.philox import permutation, stream_key
from distmom.numerics.random.tuple_draws import sample_tuples
from distmom.numerics.samples.sampled_leaf import leaf_sample
from distmom.numerics.samples.wanted_rows import distinct
from distmom.passes.gather import RowSource, gather_rows

if TYPE_CHECKING:
    from distmom.cluster import Progress
    from distmom.reductions.rows.gather import GatheredRows

Places: TypeAlias = tuple[NDArray[np.intp], ...]
"""Of the first rows of the tuples of a sample, of the second ones, and so on."""

MOST_ROWS = 10_000_000
"""Rows drawn for samples that are gathered together; more take another pass over the files that hold them."""

GROUPS, GROUP_ROWS = 31, {2: 256, 3: 40, 4: 24, 5: 19, 6: 17}
"""Groups of rows, and rows of each sample in one by the rows that the kernel (of its parts the largest) takes
in all: their row means tell what the rows vary by."""

GROUP_ROWS_OF_MORE = 16
"""Of kernels of more rows."""

PURPOSES: dict[tuple[int, ...], str] = {(2,): "pairs", (3,): "triples"}
"""What keys the draws; for other degrees that has their numbers."""


def sampled_tuples(
    kernel: Kernel,
    sources: Sequence[RowSource],
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
    sources : sequence of RowSource
        A lake for each sample of the kernel, its rows counted; its columns are the kernel's, or each for
        itself (`RowSource.separate`).
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
        If the lakes have other columns than the kernel, or more pairs are asked for than there are.
    NoAnswerError
        If a lake has too few rows.
    ResourceError
        If the rows of one sample do not fit into memory.

    Notes
    -----
    Pairs are drawn from all n (n - 1)/2 pairs of the lake, those across files included, by the row numbers of
    ``numerics/pairs.py``; of several lakes tuples from all C(n_1, d_1) C(n_2, d_2) ... The number of pairs is
    a Python integer, so n may exceed 5e9. A pair of which a row does not count (null, NaN, dropped by the
    filter) is left out: the others are uniform over the pairs of rows that count. Memory O(K M) up to ten
    million rows drawn, then a further pass for the next samples.
    Row numbers, sums and their order depend on seed and lake alone.
    """
    degrees, n_rows = kernel.degrees, tuple(source.n_rows for source in sources)
    separate = _check_columns(kernel, sources)
    _check_numbers(kernel, n_rows, n_blocks, n_tuples, replace)
    key = stream_key(seed, PURPOSES.get(degrees, f"tuples of {', '.join(map(str, degrees))}"))
    found = [_Column(kernel, seed, spread) for _ in range(sources[0].n_columns if separate else 1)]
    skipped = dict[SkippedFile, None]()
    starts = np.cumsum((0, *degrees)).tolist()
    for blocks in _passes(n_blocks, n_tuples * sum(degrees)):
        tuples = [
            sample_tuples(key, block, n_rows, degrees, n_tuples, replace=replace, compiled=compiled)
            for block in blocks
        ]
        gathered: list[GatheredRows] = []
        places: list[Places] = [()] * len(tuples)
        for source, (first, last) in zip(sources, pairwise(starts), strict=True):
            wanted = distinct(np.concatenate([side for sides in tuples for side in sides[first:last]]))
            for i, sides in enumerate(tuples):
                places[i] += tuple(places_of(side, wanted) for side in sides[first:last])
            rows, bad = gather_rows(source, wanted, progress)
            gathered.append(rows)
            skipped |= dict.fromkeys(bad)
        for c, column in enumerate(found):
            column.add([rows.column(c) if separate else rows for rows in gathered], places)
    shared: dict[str, Any] = {
        "kernel": kernel,
        "n_rows": n_rows,
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
        self._groups: list[tuple[Floats, ...]] = []
        self._gathered = tuple(Gathered() for _ in kernel.degrees)

    def add(self, rows: list[GatheredRows], places: list[Places]) -> None:
        """Further samples: of each the places, among the rows gathered, of the rows of its tuples."""
        self._gathered = tuple(one.plus(more) for one, more in zip(self._gathered, rows, strict=True))
        values = [self._kernel.as_sample(one.values) for one in rows]
        used = [one.used for one in rows]
        self._moments += [_moments(self._kernel, values, used, sides) for sides in places]
        if self._spread and not self._groups:
            counting = [v[u] for v, u in zip(values, used, strict=True)]
            self._groups = _groups(self._kernel, counting, self._seed)

    def samples(self, shared: dict[str, Any]) -> SampledTuples:
        """All samples, with what all columns share."""
        moments = TupleMoments.joined(self._moments)
        values = moments.values(self._kernel)
        return SampledTuples(
            moments=moments,
            values=values,
            gathered=self._gathered,
            spreads=self._spreads(moments) if self._groups else np.empty((0, *values.shape[1:])),
            group_rows=tuple(one.shape[0] for one in self._groups[0]) if self._groups else (),
            **shared,
        )

    def _spreads(self, moments: TupleMoments) -> Floats:
        if len(self._kernel.degrees) > 1:
            return sample_spreads(self._kernel, self._groups)
        weights = part_weights(self._kernel, *lower_median(moments.mean, axis=0))
        return row_spreads(self._kernel, [rows for (rows,) in self._groups], weights)


def _check_columns(kernel: Kernel, sources: Sequence[RowSource]) -> bool:
    """Whether columns are for themselves; ConfigError if the kernel takes others."""
    separate = sources[0].separate
    for source in sources:
        if not separate:
            kernel.check_columns(source.n_columns)
    return separate


def _check_numbers(
    kernel: Kernel, n_rows: tuple[int, ...], n_blocks: int, n_tuples: int, replace: bool
) -> None:
    check_count("n_blocks", n_blocks)
    check_count("n_pairs", n_tuples)
    for n, degree in zip(n_rows, kernel.degrees, strict=True):
        if n < degree:
            raise NoAnswerError(f"the data has {n} rows, and the kernel takes {degree}; give more rows")
    refuse_repeats(kernel, n_rows, n_tuples, replace)


def refuse_repeats(kernel: Kernel, n_rows: Sequence[int], n_tuples: int, replace: bool) -> None:
    """ConfigError if more tuples are to be drawn without repeats than the rows have."""
    there_are = count_tuples(kernel.degrees, tuple(n_rows))
    if not replace and n_tuples > there_are > 0:
        of = " and ".join(f"{n:,}" for n in n_rows)
        raise ConfigError(
            f"n_pairs: {n_tuples:,} without repeats are more than the {there_are:,} that {of} rows "
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


def _moments(kernel: Kernel, values: list[Floats], used: list[Bools], places: Places) -> TupleMoments:
    """Moments of one sample over the tuples of rows that count."""
    of = np.repeat(np.arange(len(values)), kernel.degrees).tolist()
    if not all(one.all() for one in used):
        keep = np.logical_and.reduce([used[s][place] for s, place in zip(of, places, strict=True)])
        places = tuple(place[keep] for place in places)
    return TupleMoments.of(kernel, *(values[s][place] for s, place in zip(of, places, strict=True)))


def places_of(numbers: Ints, wanted: Ints) -> NDArray[np.intp]:
    """Where numbers stand in an ascending list that holds them all; sorted first, which finds them faster."""
    if (numbers[1:] >= numbers[:-1]).all():
        return np.searchsorted(wanted, numbers)
    order = np.argsort(numbers, kind="stable")
    places = np.empty(numbers.size, np.intp)
    places[order] = np.searchsorted(wanted, numbers[order])
    return places


def _groups(kernel: Kernel, used: list[Floats], seed: int) -> list[tuple[Floats, ...]]:
    """Some of the rows that count, in random groups of each sample; none where there are too few of them."""
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
