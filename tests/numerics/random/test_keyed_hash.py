"""Keyed hashes of messages against hashlib, compiled and not; joining them, and their cells."""

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distmom.numerics.blocks.labels import file_cell
from distmom.numerics.random.keyed_hash import hash_messages, join_hashes, unit_cells

WORDS = st.integers(0, 2**64 - 1)


def messages(parts):
    return np.frombuffer(b"".join(parts), np.uint8), np.cumsum([0, *map(len, parts)])


def word(message, secret):
    return int.from_bytes(hashlib.blake2b(message, digest_size=8, key=secret).digest(), "little")


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("secret", [b"k", b"0123456789abcdefunits", bytes(range(64))])
def test_hashes_are_those_of_hashlib(secret, compiled):
    """Every length around the block of 128 bytes, and none at all."""
    data = np.random.default_rng(0).integers(0, 256, 300).astype(np.uint8).tobytes()
    parts = [data[:n] for n in [*range(20), *range(120, 136), *range(250, 262)]]
    found = hash_messages(*messages(parts), secret, compiled=compiled)
    assert found.tolist() == [word(part, secret) for part in parts]


def test_frozen():
    """A change here would move units to other blocks."""
    found = hash_messages(*messages([b"i" + (7).to_bytes(8, "little")]), bytes(16) + b"units")
    assert found.tolist() == [5677271110706034138]


@pytest.mark.parametrize("compiled", [False, True])
def test_no_messages(compiled):
    assert hash_messages(*messages([]), b"k", compiled=compiled).size == 0


@given(st.lists(st.tuples(WORDS, WORDS), max_size=50))
def test_joining_depends_on_both_and_their_order(pairs):
    left, right = (np.array([p[i] for p in pairs], np.uint64) for i in (0, 1))
    joined = join_hashes(left, right)
    assert len(set(joined.tolist())) == len(set(pairs))
    swapped = join_hashes(right, left)
    assert np.array_equal(joined == swapped, left == right)


@given(st.lists(st.tuples(WORDS, st.integers(0, 5)), max_size=50), st.sampled_from([1, 105, 945, 10**6]))
def test_cells_are_the_whole_part_of_a_product(rows, n_cells):
    hashes = np.array([h for h, _ in rows], np.uint64)
    codes = np.array([c for _, c in rows], np.int64)
    want = [c * n_cells + file_cell(np.uint64(h), n_cells) for h, c in rows]
    assert unit_cells(codes, hashes, n_cells).tolist() == want
