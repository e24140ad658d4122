"""A stack of leaves against leaf moments, samples and the streaming tree one by one, bit for bit."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from distmom.numerics.arrays import NOTHING
from distmom.numerics.blocks.labels import file_key, label_table, stored_edges
from distmom.numerics.blocks.leaf import leaf_moments
from distmom.numerics.blocks.leaf_stack import LeafStack
from distmom.numerics.blocks.moments import Moments
from distmom.numerics.blocks.stored import stored_moments
from distmom.numerics.samples.sample import LeafSampler
from distmom.numerics.tree import StreamingTree

KEY = file_key(3, "a.parquet")
TABLE = label_table(3, 45)
EDGES = stored_edges(4_000, 7)
ROWS = 97  # of a leaf here


def push(stack, kind, x, rest, gone, leaf, anything):
    if kind == "random":
        return stack.push_random(x, rest, gone, leaf * ROWS, KEY, TABLE, leaf, anything)
    return stack.push_stored(x, rest, gone, leaf * ROWS, EDGES, KEY, leaf, anything)


def one_by_one(kind, leaves, size):
    tree, sampler = StreamingTree(Moments.merge), LeafSampler(size) if size else None
    for leaf, (x, gone) in enumerate(leaves):
        if kind == "stored":
            tree.push(stored_moments(x, gone, leaf * ROWS, EDGES))
        else:
            tree.push(leaf_moments(x, gone, leaf * ROWS, KEY, TABLE))
        if sampler is not None:
            sampler.offer(KEY, leaf, x, gone)
    return tree.close(), sampler


def same(a, b):
    return all(np.array_equal(u, v, equal_nan=True) for u, v in zip(a, b, strict=True))


@given(
    st.sampled_from(["random", "stored"]),
    st.integers(0, 40),
    st.sampled_from([0, 16]),
    st.booleans(),
    st.integers(0, 2**31),
)
def test_a_stack_gives_what_the_steps_give_one_by_one(kind, n_leaves, size, holes, seed):
    rng = np.random.default_rng(seed)
    leaves = []
    for _ in range(n_leaves):
        x = rng.normal(size=ROWS) * 10.0 ** rng.integers(-3, 4)
        if rng.random() < 0.1:
            x[rng.integers(ROWS)] = np.inf
        if rng.random() < 0.2:  # a shift that is far from most blocks: their digits must not be lost
            x[:] = 1.0 + 1e-12 * x
            x[(np.arange(31) * ROWS) // 31] = 1e9
        leaves.append((x, rng.random(ROWS) < 0.2 if holes else None))
    want, sampler = one_by_one(kind, leaves, size)
    mine = LeafSampler(size, compiled=True) if size else None
    stack = LeafStack(EDGES.size if kind == "stored" else 46, mine)
    for leaf, (x, gone) in enumerate(leaves):
        cut = int(rng.integers(ROWS + 1))
        clean = np.isfinite(x if gone is None else x[~gone]).all()
        assert push(stack, kind, x[:cut], x[cut:], gone, leaf, False) == clean
        assert clean or push(stack, kind, x[:cut], x[cut:], gone, leaf, True)
    got = stack.close()
    assert (got is None and want is None) or same(got.at(0), want)
    assert stack.close() is None, "closing starts anew"
    assert (mine is None and sampler is None) or same(mine.result(), sampler.result())


def test_a_stack_serves_one_file_after_the_other():
    x = np.random.default_rng(0).normal(size=ROWS)
    stack = LeafStack(46)
    files = []
    for _ in range(2):
        for leaf in range(5):
            assert push(stack, "random", x, NOTHING, None, leaf, False)
        files.append(stack.close())
    assert same(*files) and not np.shares_memory(files[0].mean, files[1].mean)
