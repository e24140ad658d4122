"""Block moments of one leaf against a row-by-row twin; compiled and NumPy kernels bit for bit."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from distmom.numerics.blocks.labels import file_key, label_table, labels, stored_edges, stored_labels
from distmom.numerics.blocks.leaf import LEAF_ROWS, leaf_moments
from distmom.numerics.blocks.leaf_compiled import NO_ROW
from distmom.numerics.blocks.moments import Moments
from distmom.numerics.blocks.stored import stored_moments

SEED = 11
KEY = file_key(SEED, "a.parquet")
TABLES = {k: label_table(SEED, k) for k in (1, 3, 45, 945, 1015)}


def slow_moments(x, gone, blocks, k) -> Moments:
    """Row by row: collect the values of each block, then take mean and squares about it."""
    out = Moments.empty(k)
    for b in range(k):
        values = [v for v, g, label in zip(x, gone, blocks, strict=True) if label == b and not g]
        out.count[b] = len(values)
        if values and not np.isfinite(values).all():
            with np.errstate(invalid="ignore"):
                out.mean[b] = np.sum(values)
            out.m2[b] = np.nan
        elif values:
            out.mean[b] = np.mean(values)
            out.m2[b] = np.sum((np.array(values) - out.mean[b]) ** 2)
    return out


def assert_close(got: Moments, want: Moments, scale=1.0):
    assert np.array_equal(got.count, want.count)
    np.testing.assert_allclose(got.mean, want.mean, rtol=1e-12, atol=1e-12 * scale)
    np.testing.assert_allclose(got.m2, want.m2, rtol=1e-9, atol=1e-12 * scale**2)


def same_bits(a: Moments, b: Moments) -> bool:
    return all(np.array_equal(u, v, equal_nan=True) for u, v in zip(a, b, strict=True))


leaves = st.tuples(
    st.sampled_from(sorted(TABLES)),
    st.integers(0, 3000),
    st.integers(0, 2500),
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 0.05, 0.9, 1.0]),
    st.sampled_from(["normal", "outlying", "infinite", "offset", "zeros"]),
)


def draw(first, n, seed, share, kind):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    if kind == "outlying":
        x = rng.standard_cauchy(n) * 10.0 ** rng.integers(-5, 9, n)
    if kind == "infinite" and n:
        x[rng.integers(0, n, 3)] = [np.inf, -np.inf, np.inf]
    if kind == "offset":
        x += 1e9
    if kind == "zeros":  # of both signs: one of them marks rows that are gone in the compiled kernel
        x = rng.choice([0.0, -0.0, 5e-324, -5e-324], n)
    return x, rng.random(n) < share


@given(leaves)
def test_leaf_equals_the_twins(case):
    k, first, n, seed, share, kind = case
    x, gone = draw(first, n, seed, share, kind)
    garbage = np.where(gone, np.nan, x)
    before = garbage.copy()
    fast = leaf_moments(garbage, gone, first, KEY, TABLES[k], compiled=True)
    assert np.array_equal(garbage, before, equal_nan=True)
    assert same_bits(fast, leaf_moments(garbage, gone, first, KEY, TABLES[k]))
    if n < 600 and k < 100 and kind != "outlying":
        blocks = labels(first, n, KEY, TABLES[k])
        assert_close(
            fast.at(slice(k)), slow_moments(x, gone, blocks, k), scale=1e9 if kind == "offset" else 1.0
        )
        whole = fast.at(slice(k, None))
        assert_close(
            whole, slow_moments(x, gone, np.zeros(n, int), 1), scale=1e9 if kind == "offset" else 1.0
        )
    cut = seed % (n + 1)
    for compiled in (False, True):
        halves = garbage[:cut], gone, first, KEY, TABLES[k]
        assert same_bits(fast, leaf_moments(*halves, rest=garbage[cut:], compiled=compiled))
    if not gone.any():
        assert same_bits(fast, leaf_moments(x, None, first, KEY, TABLES[k]))
        assert same_bits(fast, leaf_moments(x, None, first, KEY, TABLES[k], compiled=True))


def test_a_full_leaf_equals_the_twins():
    x = np.random.default_rng(3).lognormal(0, 2, LEAF_ROWS)
    gone = np.random.default_rng(4).random(LEAF_ROWS) < 0.05
    for mask in (None, gone):
        fast = leaf_moments(x, mask, 5 * LEAF_ROWS, KEY, TABLES[945], compiled=True)
        place = mask, 5 * LEAF_ROWS, KEY, TABLES[945]
        assert same_bits(fast, leaf_moments(x[:65_536], *place, rest=x[65_536:], compiled=True))
        assert same_bits(fast, leaf_moments(x, mask, 5 * LEAF_ROWS, KEY, TABLES[945]))
        fast = fast.at(slice(945))
        blocks = labels(5 * LEAF_ROWS, LEAF_ROWS, KEY, TABLES[945])
        used = slice(None) if mask is None else ~mask
        assert np.array_equal(fast.count, np.bincount(blocks[used], minlength=945))
        np.testing.assert_allclose(
            fast.mean, np.bincount(blocks[used], x[used], 945) / fast.count, rtol=1e-12
        )


def test_the_second_moment_survives_a_bad_first_shift():
    """Every probed place holds a sentinel far from all other rows."""
    n = 31 * 1000
    x = 1.0 + np.random.default_rng(0).normal(size=n) * 1e-3
    x[(np.arange(31) * n) // 31] = 1e12
    gone = x == 1e12
    gone[0] = False  # one sentinel stays and is the shift's only candidate
    got = leaf_moments(x, gone, 0, KEY, TABLES[45]).at(slice(45))
    blocks = labels(0, n, KEY, TABLES[45])
    clean = np.delete(np.arange(45), blocks[0])
    spread = got.m2[clean] / got.count[clean]
    assert np.all((spread > 0.8e-6) & (spread < 1.2e-6)), spread


def test_constants_have_no_spread():
    for value in (0.1, 22642751.0, -1e300, 1e-300):
        got = leaf_moments(np.full(4000, value), None, 7, KEY, TABLES[45])
        assert (got.mean == value).all() and (got.m2 == 0.0).all()


def test_read_only_arrays_are_taken():
    x = np.random.default_rng(0).normal(size=3000)
    x.flags.writeable = False
    for compiled in (False, True):
        assert leaf_moments(x, None, 0, KEY, TABLES[45], compiled=compiled).count[-1] == 3000


def test_no_value_is_taken_for_a_row_that_is_gone():
    """Kernels mark such rows by a zero with a sign, which a file may hold, too; a NaN ruins its block."""
    gone = np.zeros(3000, np.bool_)
    gone[::7] = True
    x = np.full(3000, NO_ROW)
    assert np.signbit(x).all()
    for row in (15, 1500, 2999):  # of a run that the leaf cuts, and of whole ones
        x[:] = NO_ROW
        x[row] = np.nan
        for mask in (gone, None):
            found = leaf_moments(x, mask, 20, KEY, TABLES[945], compiled=True)
            assert same_bits(found, leaf_moments(x, mask, 20, KEY, TABLES[945]))
            bad = labels(20, 3000, KEY, TABLES[945])[row]
            assert np.flatnonzero(np.isnan(found.mean)).tolist() == [bad, 945]
            assert found.count[945] == (3000 if mask is None else (~gone).sum())


@given(
    st.integers(0, 500),
    st.integers(0, 2000),
    st.integers(1, 50),
    st.integers(0, 99),
    st.sampled_from([0.0, 0.2, 0.95]),
    st.sampled_from(["normal", "outlying", "infinite", "offset"]),
)
def test_stored_blocks_equal_the_twins(first, n, k, seed, share, kind):
    x, gone = draw(first, n, seed, share, kind)
    garbage = np.where(gone, np.nan, x)
    edges = stored_edges(first + n + 13, k)
    mask = gone if share else None
    got = stored_moments(garbage, mask, first, edges)
    assert same_bits(got, stored_moments(garbage, mask, first, edges, compiled=True))
    cut = seed * n // 99
    for compiled in (False, True):
        halves = stored_moments(garbage[:cut], mask, first, edges, rest=garbage[cut:], compiled=compiled)
        assert same_bits(got, halves)
    if n < 600 and kind != "outlying":
        scale = 1e9 if kind == "offset" else 1.0
        slow = slow_moments(x, gone, stored_labels(first, n, first + n + 13, k), k)
        assert_close(got.at(slice(k)), slow, scale=scale)
        assert_close(got.at(slice(k, None)), slow_moments(x, gone, np.zeros(n, int), 1), scale=scale)


def test_a_full_leaf_of_stored_blocks_equals_the_twin():
    x = np.random.default_rng(3).lognormal(0, 2, LEAF_ROWS)
    x[7000:7031] = 1e15  # a block whose first shift is far from most of its rows
    gone = np.random.default_rng(4).random(LEAF_ROWS) < 0.05
    edges = np.array([0, 7000, 7040, 7040, 60_000, 2 * LEAF_ROWS])
    for mask in (None, gone):
        fast = stored_moments(x, mask, 0, edges, compiled=True)
        assert same_bits(fast, stored_moments(x, mask, 0, edges))
        halves = stored_moments(x[:70_007], mask, 0, edges, rest=x[70_007:], compiled=True)
        assert same_bits(fast, halves)
