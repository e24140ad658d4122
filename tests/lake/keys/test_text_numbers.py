"""Numbers of texts: by first appearance, in one table for all batches, against a dict."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distmom.lake import KeyEncoder
from distmom.lake.keys import text_numbers
from distmom.lake.keys.key_hashes import KeyHashes
from distmom.lake.keys.ranges import RangeEncoder
from distmom.lake.keys.text_numbers import TextNumbers
from distmom.numerics.hash_ranges import HashRange

texts = st.lists(
    st.sampled_from(
        ["", "a", "a\0", "ab", "customer", "customer-1", "customer-2", "customer-10", "ü" * 9, "x" * 40]
    )
    | st.text(max_size=20),
    min_size=1,
    max_size=40,
)
TYPES = {pa.string(): str, pa.large_string(): str, pa.binary(): bytes, pa.large_binary(): bytes}


def batches(values: list[str], cuts: list[int], type_: pa.DataType) -> list[pa.Array]:
    plain: list[Any] = values if TYPES[type_] is str else [value.encode() for value in values]
    whole = pa.array([*plain, *plain], type_)
    edges = [0, *sorted(min(cut, len(whole)) for cut in cuts), len(whole)]
    return [whole.slice(low, high - low) for low, high in itertools.pairwise(edges)]


@given(texts, st.lists(st.integers(0, 80), max_size=3), st.sampled_from(list(TYPES)))
def test_numbers_are_those_of_a_dict(values: list[str], cuts: list[int], type_: pa.DataType) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_numbers, "ROOM", 1)  # the table grows, and so does the room for bytes
        patch.setattr(text_numbers, "ROOM_BYTES", 1)
        table, seen = TextNumbers(), {}
        for batch in batches(values, cuts, type_):
            found = table.of(batch)
            if found is None:  # without rows, or without a byte
                assert not any(batch.to_pylist())
                continue
            rows = batch.to_pylist()
            assert found.numbers.tolist() == [seen.setdefault(value, len(seen)) for value in rows]
            assert (found.n, found.start, found.valid) == (len(seen), 0, None)
            assert table.texts(0, type_).to_pylist() == list(seen)
            half = len(seen) // 2
            assert table.texts(half, type_).to_pylist() == list(seen)[half:]
            assert table.of(batch) is found


@given(texts, st.lists(st.integers(0, 80), max_size=5), st.integers(0, 5))
def test_codes_and_hashes_outlive_a_table_that_starts_anew(
    values: list[str], cuts: list[int], most: int
) -> None:
    """They are those without numbers, with nulls and rows that do not count, of all groups or of a range."""
    arrays = batches(values, cuts, pa.string())
    skipped = [pa.array([value if i % 5 else None for i, value in enumerate(a.to_pylist())]) for a in arrays]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_numbers, "MOST_TEXTS", most)
        for pieces in (arrays, skipped):
            plain, fast = KeyEncoder(1), KeyEncoder(1, compiled=True)
            shared = KeyEncoder(1, compiled=True)
            slow_hashes = KeyHashes(1, 7)
            hashes = KeyHashes(1, 7, compiled=True, numbers=shared.numbers)
            ranged = RangeEncoder(shared, hashes, HashRange(high=2**63), 0)
            keys: dict[int, Any] = {}
            for piece in pieces:
                keep = np.arange(len(piece)) % 3 > 0
                assert fast.encode((piece,), keep).tolist() == plain.encode((piece,), keep).tolist()
                codes, words = ranged.encode((piece,), keep)
                assert (words == slow_hashes.of((piece,))).all()
                inside = keep & (words < 2**63)
                assert (codes[keep & ~inside] == ranged.others).all() and (codes[~keep] == -1).all()
                values_inside = [value for value, mine in zip(piece.to_pylist(), inside, strict=True) if mine]
                for code, value in zip(codes[inside].tolist(), values_inside, strict=True):
                    assert keys.setdefault(code, value) == value
            assert fast.keys == plain.keys
            assert len(set(keys.values())) == len(keys)


def test_a_bound_for_the_table_holds_between_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_numbers, "MOST_BYTES", 1_000)
    table = TextNumbers()
    starts = []
    for first in range(0, 500, 50):
        found = table.of(pa.array([f"text number {i:07}" for i in range(first, first + 50)]))
        assert found is not None
        starts.append((found.start, found.n))
    assert starts == [(i // 2, 50 + 50 * (i % 2)) for i in range(10)]


@pytest.mark.parametrize("n", [1_100, 9_000])
def test_the_table_holds_no_more_than_is_declared(n: int) -> None:
    table, letters = TextNumbers(), [f"customer-{i}" for i in range(n)]
    assert table.of(pa.array(letters)) is not None
    held = table._slots.nbytes + table._edges.nbytes + table._texts.nbytes
    assert held / 4 < text_numbers.table_bytes(n, sum(map(len, letters))) >= held
    assert text_numbers.table_bytes(10 * text_numbers.MOST_TEXTS, 10 * text_numbers.MOST_BYTES) < 2**27
