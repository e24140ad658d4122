"""Incomplete U-statistics of a lake: samples of pairs (or larger tuples) drawn from all pairs of its rows."""

from __future__ import annotations

from collections.abc import Iterator
from math import comb
from typing import TYPE_CHECKING

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

Ints = NDArray[np.int64]

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
    compiled: bool = True,
    progress: Progress | None = None,
) -> SampledTuples:
    """Incomplete U-statistics: K samples of M pairs, uniform over all pairs of rows of a lake.

    Parameters
    ----------
    kernel : Kernel
        Of one sample.
    source : RowSource
        The lake, its rows counted; its columns are the kernel's.
    seed : int
        128 bits.
    n_blocks, n_tuples : int
        K, M.
    replace : bool
        Whether pairs may repeat (``monte_carlo``); else the pairs of a sample are distinct (``swor``).
    compiled : bool
        Draw with Numba (the same pairs).
    progress : Progress, optional

    Returns
    -------
    SampledTuples

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
    found: list[TupleMoments] = []
    gathered, skipped = Gathered(), dict[SkippedFile, None]()
    groups: list[Floats] = []
    for blocks in _passes(n_blocks, n_tuples * degree):
        tuples = [
            sample_tuples(key, block, source.n_rows, degree, n_tuples, replace=replace, compiled=compiled)
            for block in blocks
        ]
        wanted = distinct(np.concatenate([side for sides in tuples for side in sides]))
        rows, bad = gather_rows(source, wanted, progress)
        skipped |= dict.fromkeys(bad)
        gathered = gathered.plus(rows)
        values = kernel.as_sample(rows.values)
        found += [_moments(kernel, values, rows.used, wanted, sides) for sides in tuples]
        if not groups:
            groups = _groups(kernel, values[rows.used], seed)
    moments = TupleMoments.joined(found)
    weights = part_weights(kernel, *lower_medians(moments.mean))
    shape = moments.values(kernel).shape[1:]
    spreads = row_spreads(kernel, groups, weights) if groups else np.empty((0, *shape))
    return SampledTuples(
        kernel=kernel,
        n_rows=source.n_rows,
        n_asked=n_tuples,
        replace=replace,
        moments=moments,
        values=moments.values(kernel),
        gathered=gathered,
        spreads=spreads,
        group_rows=groups[0].shape[0] if groups else 0,
        skipped=tuple(skipped),
    )


def _check_kernel(kernel: Kernel, source: RowSource) -> int:
    """The kernel's degree; ConfigError if its tuples are not drawn."""
    if len(kernel.degrees) != 1 or kernel.degrees[0] < 2:
        raise ConfigError(
            f"pairs='incomplete' is for kernels of one sample, and {kernel.name!r} takes "
            f"{' and '.join(map(str, kernel.degrees))} rows; use pairs='complete'"
        )
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


def _moments(
    kernel: Kernel, values: Floats, used: NDArray[np.bool_], wanted: Ints, sides: tuple[Ints, ...]
) -> TupleMoments:
    """Moments of one sample over the tuples of rows that count."""
    places = [places_of(side, wanted) for side in sides]
    keep = np.logical_and.reduce([used[place] for place in places])
    if not keep.all():
        places = [place[keep] for place in places]
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
