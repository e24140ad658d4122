"""Labels of chunks of rows against a per-row twin; moments of such blocks, compiled and NumPy bit for bit."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from distmom.numerics.blocks.cells import block_cells
from distmom.numerics.blocks.labels import chunk_labels, file_key, label_table, labels
from distmom.numerics.blocks.leaf import LEAF_ROWS, leaf_moments
from distmom.numerics.blocks.moments import Moments

KEY = file_key(11, "a.parquet")
TABLES = {k: label_table(11, k) for k in (1, 3, 45, 945)}
CHUNKS = st.sampled_from([1, 2, 3, 7, 64, 1000, 10**12])


def slow_labels(first, n, chunk_rows, table):
    """Row by row: the label that row number `row // chunk_rows` has where rows are labelled one by one."""
    return [int(labels(row // chunk_rows, 1, KEY, table)[0]) for row in range(first, first + n)]


def slow_moments(x, gone, blocks, k):
    """Each block's values collected row by row."""
    out = Moments.empty(k)
    for b in range(k):
        values = x[(np.asarray(blocks) == b) & ~gone]
        out.count[b] = values.size
        if values.size:
            out.mean[b] = values.mean()
            out.m2[b] = ((values - out.mean[b]) ** 2).sum()
    return out


def same_bits(a, b):
    return all(np.array_equal(u, v, equal_nan=True) for u, v in zip(a, b, strict=True))


@given(st.integers(0, 3000), st.integers(0, 300), CHUNKS, st.sampled_from(sorted(TABLES)))
def test_labels_equal_the_row_by_row_twin(first, n, chunk_rows, k):
    assert chunk_labels(first, n, chunk_rows, KEY, TABLES[k]).tolist() == slow_labels(
        first, n, chunk_rows, TABLES[k]
    )


@given(st.integers(0, 2500), st.integers(0, 1500), st.integers(0, 1500), CHUNKS)
def test_a_cut_between_leaves_or_batches_moves_no_row(first, n, cut, chunk_rows):
    cut = min(cut, n)
    whole = chunk_labels(first, n, chunk_rows, KEY, TABLES[45])
    parts = [(first, cut), (first + cut, n - cut)]
    assert np.array_equal(
        whole, np.concatenate([chunk_labels(*p, chunk_rows, KEY, TABLES[45]) for p in parts])
    )


@given(
    st.sampled_from(sorted(TABLES)),
    st.integers(0, 3000),
    st.integers(0, 2500),
    CHUNKS,
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 0.05, 0.9, 1.0]),
    st.sampled_from(["normal", "outlying", "infinite", "offset"]),
)
def test_moments_equal_the_twins(k, first, n, chunk_rows, seed, share, kind):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    if kind == "outlying":
        x = rng.standard_cauchy(n) * 10.0 ** rng.integers(-5, 9, n)
    if kind == "infinite" and n:
        x[rng.integers(0, n, 3)] = [np.inf, -np.inf, np.inf]
    if kind == "offset":
        x += 1e9
    gone = rng.random(n) < share
    garbage = np.where(gone, np.nan, x)
    before = garbage.copy()
    fast = leaf_moments(garbage, gone, first, KEY, TABLES[k], chunk_rows=chunk_rows, compiled=True)
    assert np.array_equal(garbage, before, equal_nan=True)
    assert same_bits(fast, leaf_moments(garbage, gone, first, KEY, TABLES[k], chunk_rows=chunk_rows))
    if not gone.any():
        assert same_bits(
            fast, leaf_moments(x, None, first, KEY, TABLES[k], chunk_rows=chunk_rows, compiled=True)
        )
        assert same_bits(fast, leaf_moments(x, None, first, KEY, TABLES[k], chunk_rows=chunk_rows))
    if kind in ("normal", "offset") and k < 100:
        blocks = chunk_labels(first, n, chunk_rows, KEY, TABLES[k])
        want, scale = slow_moments(x, gone, blocks, k), 1e9 if kind == "offset" else 1.0
        assert np.array_equal(fast.count[:k], want.count) and fast.count[k] == want.count.sum()
        np.testing.assert_allclose(fast.mean[:k], want.mean, rtol=1e-12, atol=1e-12 * scale)
        np.testing.assert_allclose(fast.m2[:k], want.m2, rtol=1e-9, atol=1e-12 * scale**2)


def test_a_full_leaf_equals_the_twin():
    rng = np.random.default_rng(3)
    x, gone = rng.lognormal(0, 2, LEAF_ROWS), rng.random(LEAF_ROWS) < 0.05
    for mask in (None, gone):
        for chunk_rows in (2, 192, 50_000):
            fast = leaf_moments(
                x, mask, 5 * LEAF_ROWS, KEY, TABLES[945], chunk_rows=chunk_rows, compiled=True
            )
            assert same_bits(
                fast, leaf_moments(x, mask, 5 * LEAF_ROWS, KEY, TABLES[945], chunk_rows=chunk_rows)
            )


def test_chunks_of_one_row_are_rows():
    x = np.random.default_rng(0).normal(size=4000)
    for compiled in (False, True):
        rows = leaf_moments(x, None, 17, KEY, TABLES[45], compiled=compiled)
        assert same_bits(rows, leaf_moments(x, None, 17, KEY, TABLES[45], chunk_rows=1, compiled=compiled))


def test_the_second_moment_survives_a_bad_first_shift():
    n = 31 * 1000
    x = 1.0 + np.random.default_rng(0).normal(size=n) * 1e-3
    x[(np.arange(31) * n) // 31] = 1e12
    gone = x == 1e12
    gone[0] = False  # one sentinel stays and is the shift's only candidate
    for compiled in (False, True):
        got = leaf_moments(x, gone, 0, KEY, TABLES[45], chunk_rows=10, compiled=compiled).at(slice(45))
        clean = np.arange(45) != chunk_labels(0, 1, 10, KEY, TABLES[45])[0]
        spread = got.m2[clean] / got.count[clean]
        assert np.all((spread > 0.8e-6) & (spread < 1.2e-6)), spread


@given(st.integers(0, 3000), st.integers(0, 2500), CHUNKS, st.sampled_from([1, 5, 9]))
def test_cells_are_code_and_label(first, n, chunk_rows, width):
    codes = np.random.default_rng(n).integers(0, 7, n)
    table = TABLES[945]
    want = codes * (945 // width) + chunk_labels(first, n, chunk_rows, KEY, table) // width
    assert np.array_equal(block_cells(codes, first, KEY, table, width, chunk_rows), want)
