"""Numbers of distinct units against sets; sketches merged in any way; how far estimates are off."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from distmom.numerics.samples.distinct import DistinctUnits, UnitSketch, smallest


def rows(seed, n, n_units, n_groups):
    g = np.random.default_rng(seed)
    units = g.integers(0, 2**64, n_units, dtype=np.uint64)
    return units[g.integers(0, n_units, n)], g.integers(0, n_groups, n), g.random(n) < 0.7


def twin(hashes, groups, keep, size):
    """The set of pairs, in order of hash and group, below the size-th smallest hash."""
    everything = sorted(set(zip(hashes[keep].tolist(), groups[keep].tolist(), strict=True)))
    bound = everything[size - 1][0] if len(everything) >= size else 2**64 - 1
    return [pair for pair in everything if pair[0] < bound], bound


def collect(hashes, groups, keep, size, step):
    met = DistinctUnits(size)
    for start in range(0, hashes.size, step):
        part = slice(start, start + step)
        met.offer(hashes[part], groups[part], None if keep is None else keep[part])
    return met.result()


def pairs(sketch):
    return list(zip(sketch.hashes.tolist(), sketch.groups.tolist(), strict=True)), int(sketch.bound)


@given(
    st.integers(0, 2**32),
    st.integers(0, 600),
    st.sampled_from([1, 3, 40, 1000]),
    st.sampled_from([1, 7]),
    st.sampled_from([1, 4, 64, 4096]),
    st.sampled_from([1, 37, 10**6]),
)
def test_the_sketch_is_that_of_the_set(seed, n, n_units, n_groups, size, step):
    hashes, groups, keep = rows(seed, n, n_units, n_groups)
    want = twin(hashes, groups, keep, size)
    everything = twin(hashes, groups, np.ones(n, bool), size)
    assert pairs(collect(hashes, groups, keep, size, step)) == want
    assert pairs(collect(hashes, groups, None, size, step)) == everything


@given(st.integers(0, 2**32), st.integers(0, 300), st.integers(0, 300), st.sampled_from([1, 5, 4096]))
def test_any_cutting_merges_to_the_whole(seed, n, cut, size):
    hashes, groups, keep = rows(seed, n, 50, 4)
    parts = [collect(hashes[p], groups[p], keep[p], size, 10**6) for p in (slice(cut), slice(cut, None))]
    want = twin(hashes, groups, keep, size)
    assert pairs(parts[0].merge(parts[1], size)) == pairs(parts[1].merge(parts[0], size)) == want


def test_groups_can_be_renumbered():
    hashes, groups, keep = rows(0, 500, 50, 4)
    numbers = np.array([2, 0, 3, 1])
    renumbered = collect(hashes, groups, keep, 64, 100).renumbered(numbers)
    assert pairs(renumbered) == twin(hashes, numbers[groups], keep, 64)


def test_few_units_are_counted():
    hashes, groups, keep = rows(1, 5_000, 90, 5)
    sketch = collect(hashes, groups, keep, 4096, 1000)
    want = [len(set(hashes[keep & (groups == g)].tolist())) for g in range(6)]
    assert sketch.exact and sketch.counts(6).tolist() == want


def test_as_many_pairs_as_the_size_are_not_counted():
    hashes, groups = np.arange(10, dtype=np.uint64), np.zeros(10, np.int64)
    assert [smallest(hashes, groups, size).exact for size in (4, 10, 11)] == [False, False, True]


def test_estimates_of_many_units():
    """(k - 1)/u has the relative standard error 1/sqrt(k - 2); unbiased over 400 sets of units."""
    g = np.random.default_rng(2)
    size, n_units = 66, 1_000
    found = []
    for _ in range(400):
        hashes = g.integers(0, 2**64, n_units, dtype=np.uint64)
        found.append(smallest(hashes, np.zeros(n_units, np.int64), size).counts(1)[0])
    # mean of 400: within 5 standard errors of the mean, failure probability 6e-7
    assert abs(np.mean(found) / n_units - 1) < 5 * (1 / 8) / 20
    # standard deviation of 400: within a quarter (5 of its standard errors 1/sqrt(800)), more for the tails
    assert 0.75 / 8 < np.std(found) / n_units < 1.25 / 8


def test_estimates_of_groups():
    """Shares of one sample of units: a group with m kept pairs is known to within 5/sqrt(m)."""
    g = np.random.default_rng(3)
    sizes = np.array([50, 2_000, 10_000, 0])
    units = [g.integers(0, 2**64, n, dtype=np.uint64) for n in sizes]
    groups = np.repeat(np.arange(4), sizes)
    sketch = smallest(np.concatenate(units), groups, 1_000)
    counts = sketch.counts(4)
    assert not sketch.exact and counts[3] == 0
    share = 1_000 / sizes.sum()
    assert np.all(np.abs(counts[1:3] / sizes[1:3] - 1) < 5 / np.sqrt(sizes[1:3] * share))


def test_an_empty_sketch():
    empty = UnitSketch(np.empty(0, np.uint64), np.empty(0, np.int64))
    assert empty.counts(2).tolist() == [0, 0]
    assert empty.merge(empty, 10).hashes.size == 0
