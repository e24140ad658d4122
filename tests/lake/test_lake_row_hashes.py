"""Checksums of rows: the same for any order, chunks and dictionaries, another one for any other rows."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from distmom.errors import DataError
from distmom.lake.keys import row_hashes
from distmom.lake.keys.row_hashes import batch_checksum, value_hashes
from distmom.numerics.random.row_hash import add_checksums

COLUMNS: dict[str, pa.Array] = {
    "float64": pa.array([1.5, None, -0.0, 0.0, float("inf"), 2.0]),
    "float16": pa.array(np.arange(6, dtype=np.float16)),
    "int8": pa.array([1, None, -1, 3, 4, 5], pa.int8()),
    "uint64": pa.array([2**64 - 1, 0, 1, None, 4, 5], pa.uint64()),
    "bool": pa.array([True, False, None, True, True, False]),
    "text": pa.array(["a", "", None, "ü", "a longer text than eight bytes", "b"]),
    "large_text": pa.array(["a", "", None, "ü", "ab", "b"], pa.large_string()),
    "bytes": pa.array([b"a", b"", None, b"\0", b"\0\0", b"b"]),
    "fixed_bytes": pa.array([b"abc", None, b"\0\0\0", b"xyz", b"aaa", b"bbb"], pa.binary(3)),
    "decimal": pa.array([Decimal("1.25"), None, Decimal("-3"), Decimal(0), Decimal(7), Decimal(9)]),
    "date": pa.array([dt.date(2024, 1, i) if i else None for i in range(6)]),
    "timestamp": pa.array([1, 2, None, 4, 5, 6], pa.timestamp("ns", "Europe/Berlin")),
    "null": pa.nulls(6),
    "dictionary": pa.array(["a", "b", None, "a", "c", "b"]).dictionary_encode(),
    "list": pa.array([[1, 2], [], None, [1], [2, 1], [None]]),
    "large_list": pa.array([["a"], [], None, ["a", "b"], ["b"], [None]], pa.large_list(pa.string())),
    "fixed_list": pa.array([[1, 2], None, [2, 1], [3, 4], [None, 1], [0, 0]], pa.list_(pa.int32(), 2)),
    "struct": pa.array(
        [
            {"a": 1, "b": "x"},
            None,
            {"a": None, "b": "x"},
            {"a": 1, "b": None},
            {"a": 2, "b": "y"},
            {"a": 1, "b": "y"},
        ]
    ),
    "map": pa.array(
        [[("a", 1)], [], None, [("b", 2), ("a", 1)], [("a", None)], [("c", 3)]],
        pa.map_(pa.string(), pa.int64()),
    ),
    "deep": pa.array([[{"a": [1]}], [], None, [{"a": None}], [{"a": []}], [{"a": [1]}, {"a": [2]}]]),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_values_hash_alike_wherever_they_stand(name: str) -> None:
    array = COLUMNS[name]
    hashes = value_hashes(array)
    assert np.array_equal(hashes, value_hashes(array, compiled=True))
    order = np.array([3, 0, 5, 2, 4, 1])
    assert np.array_equal(value_hashes(array.take(pa.array(order))), hashes[order])
    assert np.array_equal(value_hashes(array.slice(2, 3)), hashes[2:5])
    again = pa.concat_arrays([array.slice(1), array.slice(0, 1)])
    assert np.array_equal(value_hashes(again), np.roll(hashes, -1))
    assert value_hashes(array.slice(6)).size == 0
    distinct = len({repr(value) for value in array.to_pylist()})
    assert len(set(hashes.tolist())) == (1 if name == "null" else distinct)


def test_dictionaries_views_and_extensions_hash_as_their_values() -> None:
    plain = pa.array(["a", "b", None, "a"])
    assert np.array_equal(value_hashes(plain), value_hashes(plain.dictionary_encode()))
    other = pa.DictionaryArray.from_arrays(pa.array([1, 2, 0, 1], pa.int8()), pa.array([None, "a", "b"]))
    assert np.array_equal(value_hashes(plain), value_hashes(other))
    views = (pa.string_view(), pa.large_string())
    assert all(np.array_equal(value_hashes(plain), value_hashes(plain.cast(view))) for view in views)
    with pytest.raises(DataError, match="list_view"):
        value_hashes(pa.array([[1, 2]], pa.list_view(pa.int64())))
    numbers = pa.array([1, 2, 3, 4])
    extended = pa.ExtensionArray.from_storage(pa.opaque(pa.int64(), "number", "us"), numbers)
    assert np.array_equal(value_hashes(numbers), value_hashes(extended))


def table_of(names: list[str]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([COLUMNS[name] for name in names], names=names)


def test_the_checksum_knows_no_order_and_no_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = table_of(list(COLUMNS))
    whole = batch_checksum(batch)
    assert whole == batch_checksum(batch.take(pa.array([5, 1, 3, 0, 2, 4])), compiled=True)
    parts = [batch_checksum(batch.slice(0, 2)), batch_checksum(batch.slice(2))]
    assert whole == add_checksums(*parts)
    monkeypatch.setattr(row_hashes, "AT_ONCE_BYTES", 100)
    assert whole == batch_checksum(batch)
    assert batch_checksum(batch.slice(0, 0)) == 0


def altered(kind: str) -> Any:
    batch = table_of(["float64", "text", "list"])
    rows = batch.to_pylist()
    if kind == "lost":
        return batch.slice(1)
    if kind == "doubled in place of another":
        rows[0] = rows[1]
    if kind == "values of two rows swapped":
        rows[0]["text"], rows[3]["text"] = rows[3]["text"], rows[0]["text"]
    if kind == "null became zero":
        rows[1]["float64"] = 0.0
    if kind == "sign of zero":
        rows[3]["float64"] = -0.0
    if kind == "order inside of a list":
        rows[0]["list"] = [2, 1]
        rows[4]["list"] = [2, 1]
    return pa.RecordBatch.from_pylist(rows, batch.schema)


@pytest.mark.parametrize(
    "kind",
    ["lost", "doubled in place of another", "values of two rows swapped", "null became zero", "sign of zero",
     "order inside of a list"],
)  # fmt: skip
def test_what_the_checksum_notices(kind: str) -> None:
    assert batch_checksum(altered(kind)) != batch_checksum(altered("nothing"))
