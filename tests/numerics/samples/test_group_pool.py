"""The large sample of rows with groups, against a twin that sorts the hashes of all rows."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from distmom.numerics.blocks.labels import GOLDEN, mix
from distmom.numerics.blocks.leaf import LEAF_ROWS
from distmom.numerics.samples.group_pool import GroupPoolSampler
from distmom.numerics.samples.group_sample import GroupSampler
from distmom.numerics.samples.pool import RowPool

KEYS = (np.uint64(7), np.uint64(8), np.uint64(9))


def files(sizes: tuple[int, ...]) -> list[tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_]]]:
    """Values, codes and missing rows of some files."""
    g = np.random.default_rng(0)
    return [(g.normal(size=n), g.integers(0, 50, n), g.random(n) < 0.3) for n in sizes]


def pool_of(
    sizes: tuple[int, ...], size: int, quota: int, batch: int, *, compiled: bool, units: int = 1
) -> RowPool:
    """The sample, from batches of so many rows, each file in one of so many units."""
    pools = []
    for unit in range(units):
        groups, pool = GroupSampler(8, compiled=compiled), GroupPoolSampler(size, quota)
        for key, (x, codes, gone) in list(zip(KEYS, files(sizes), strict=False))[unit::units]:
            for start in range(0, x.size, batch):
                part = slice(start, start + batch)
                pool.offer_rows(groups, key, start, codes[part], x[part], gone[part], 50, x[part] + 1.0)
        pools.append(pool.result())
    first, *others = pools
    for other in others:
        first = other.merge(first, size)
    return first.in_order()


def twin(sizes: tuple[int, ...], size: int, quota: int) -> tuple[list[float], list[float], float]:
    """Keys and values of the sample, and the key up to which it is complete."""
    every, below = [], np.inf
    for key, (x, _, gone) in zip(KEYS, files(sizes), strict=False):
        with np.errstate(over="ignore"):
            words = mix(np.arange(x.size, dtype=np.uint64) * GOLDEN + ~key)
        keys = (words >> np.uint64(11)) * 2.0**-53
        every += [(keys[i], x[i]) for i in np.flatnonzero(~gone)]
        for start in range(0, x.size, LEAF_ROWS):
            mine = np.sort(keys[start : start + LEAF_ROWS][~gone[start : start + LEAF_ROWS]])
            below = min(below, mine[quota - 1]) if mine.size > quota else below
    every = sorted(one for one in every if one[0] <= below)
    if len(every) > size:
        every, below = every[:size], every[size - 1][0]
    return [one[0] for one in every], [one[1] for one in every], below


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("sizes", "size", "quota"),
    [((400, 30), 1_000, 1_000), ((3_000, 5_000), 1_000, 300), ((140_000, 2_000), 2_000, 500)],
)
def test_it_is_the_rows_of_the_smallest_hashes(
    sizes: tuple[int, ...], size: int, quota: int, compiled: bool
) -> None:
    keys, values, below = twin(sizes, size, quota)
    for batch, units in ((65_536, 1), (977, 2)):
        found = pool_of(sizes, size, quota, batch, compiled=compiled, units=units)
        assert found.keys.tolist() == keys and found.values.tolist() == values and found.below == below
        assert found.codes is not None and found.weights is not None
        assert np.array_equal(found.weights, found.values + 1.0)
        group = {x: g for one, codes, _ in files(sizes) for x, g in zip(one, codes, strict=True)}
        assert found.codes.tolist() == [group[x] for x in values]
        assert found.sound(50, weighted=True) and not found.sound(49, weighted=True)
