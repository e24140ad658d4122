"""Incomplete U-statistics: samples of pairs (or larger tuples) drawn from all those of the rows of lakes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from distmom.checks import check_count
from distmom.cluster import Progress
from distmom.errors import ConfigError, NoAnswerError
from distmom.estimators.ustat.tuple_samples import SampledTuples
from distmom.numerics.arrays import Bools, Floats
from distmom.numerics.blocks.labels import COMPILE, repeat_seed
from distmom.numerics.kernels.kernel import Kernel
from distmom.numerics.kernels.sums import count_tuples
from distmom.numerics.kernels.tuples import TupleMoments
from distmom.numerics.random.philox import permutation, stream_key
from distmom.numerics.samples.sampled_leaf import leaf_sample
from distmom.passes.draws import DrawPlan, draw_tuples
from distmom.passes.gather import RowSource

Places: TypeAlias = tuple[NDArray[np.intp], ...]
"""Of the first rows of the tuples of a sample, of the second ones, and so on."""

GROUPS, GROUP_ROWS = 31, {2: 256, 3: 40, 4: 24, 5: 19, 6: 17}
"""Groups of rows, and rows of each sample in one by the rows that the kernel (of its parts the largest) takes
in all: their row means tell what the rows vary by."""

GROUP_ROWS_OF_MORE = 16
"""Of kernels of more rows."""

PURPOSES: dict[tuple[int, ...], str] = {(2,): "pairs", (3,): "triples"}
"""What keys the draws; for other degrees that has their numbers."""


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
    """Incomplete U-statistics: K samples of M pairs, uniform over all pairs of rows of a lake.

    Parameters
    ----------
    kernel : Kernel
    plan : DrawPlan
        See `tuple_plan`.
    sources : sequence of RowSource
        A lake for each sample of the kernel, its rows counted; its columns are the kernel's, or each for
        itself (`RowSource.separate`).
    seed : int
        128 bits.
    replace : bool
        Whether the plan repeats pairs (``monte_carlo``); else those of a sample are distinct (``swor``).
    spread : bool
        Whether to take what the variance of the complete statistic is estimated from, for an interval.
    progress : Progress, optional

    Returns
    -------
    list of SampledTuples
        One, or one for each of the separate columns, which share the pairs drawn.

    Raises
    ------
    ConfigError
        If the lakes have other columns than the kernel.
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
    degrees, separate = kernel.degrees, sources[0].separate
    if not separate:
        kernel.check_columns(sources[0].n_columns)
    found = [
        SampledTuples(kernel, plan.n_rows, plan.sizes[0] // degrees[0], replace)
        for _ in range(sources[0].n_columns if separate else 1)
    ]
    for drawn in plan.gathered(sources, progress):
        of_lakes = [one.places() for one in drawn]
        places: list[Places] = [
            tuple(side for one, degree in zip(block, degrees, strict=True) for side in np.split(one, degree))
            for block in zip(*of_lakes, strict=True)
        ]
        for c, column in enumerate(found):
            rows = [one.rows.column(c) if separate else one.rows for one in drawn]
            values = [kernel.as_sample(one.values) for one in rows]
            used = [one.used for one in rows]
            if spread and not column.groups:
                counting = [v[u] for v, u in zip(values, used, strict=True)]
                column.groups = _groups(kernel, counting, seed)
            column.parts += [_moments(kernel, values, used, sides) for sides in places]
    return found


def tuple_plan(
    kernel: Kernel,
    n_rows: tuple[int, ...],
    seed: int,
    n_blocks: int,
    n_tuples: int,
    *,
    replace: bool,
) -> DrawPlan:
    """The draws of samples of tuples.

    Raises
    ------
    ConfigError
        If more tuples are asked for than there are.
    NoAnswerError
        If a lake has too few rows.
    """
    check_count("blocks", n_blocks)
    check_count("pairs: n", n_tuples)
    degrees = kernel.degrees
    for n, degree in zip(n_rows, degrees, strict=True):
        if n < degree:
            raise NoAnswerError(f"the data has {n} rows, and the kernel takes {degree}; give more rows")
    refuse_repeats(kernel, n_rows, n_tuples, replace)
    key = stream_key(seed, PURPOSES.get(degrees, f"tuples of {', '.join(map(str, degrees))}"))
    return draw_tuples(key, n_rows, degrees, n_blocks, n_tuples, replace=replace)


def refuse_repeats(kernel: Kernel, n_rows: Sequence[int], n_tuples: int, replace: bool) -> None:
    """ConfigError if more tuples are to be drawn without repeats than the rows have."""
    there_are = count_tuples(kernel.degrees, tuple(n_rows))
    if not replace and n_tuples > there_are > 0:
        of = " and ".join(f"{n:,}" for n in n_rows)
        raise ConfigError(
            f"pairs: n: {n_tuples:,} without repeats are more than the {there_are:,} that {of} rows "
            "have; lower it, or use SampledPairs(replace=True)"
        )


def _moments(kernel: Kernel, values: list[Floats], used: list[Bools], places: Places) -> TupleMoments:
    """Moments of one sample over the tuples of rows that count."""
    of = np.repeat(np.arange(len(values)), kernel.degrees).tolist()
    if not all(one.all() for one in used):
        keep = np.logical_and.reduce([used[s][place] for s, place in zip(of, places, strict=True)])
        places = tuple(place[keep] for place in places)
    return TupleMoments.of(kernel, *(values[s][place] for s, place in zip(of, places, strict=True)))


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
