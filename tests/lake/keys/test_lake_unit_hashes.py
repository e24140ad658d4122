"""Hashes of units against a per-row twin; the same value hashes alike from any type, batch and file."""

from __future__ import annotations

import datetime as dt
import hashlib
import itertools
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distmom.errors import DataError
from distmom.lake import ReadOptions, open_lake
from distmom.lake.files import footers
from distmom.lake.keys.keybytes import component_bytes, key_bytes
from distmom.lake.keys.keyvalues import NULL, components
from distmom.lake.keys.unit_hashes import UnitHashes

SEED = 2**127 + 5
ENGINES = pytest.mark.parametrize("compiled", [False, True])


def twin(*arrays: pa.Array) -> list[int]:
    """Row by row: BLAKE2b of each value's bytes; several columns joined by SplitMix64's finaliser."""
    out = []
    for row in range(len(arrays[0])):
        joined = None
        for array in arrays:
            plain = array.dictionary_decode() if isinstance(array, pa.DictionaryArray) else array
            message = component_bytes(components(plain.slice(row, 1))[0])
            secret = SEED.to_bytes(16, "little") + b"units"
            word = int.from_bytes(hashlib.blake2b(message, digest_size=8, key=secret).digest(), "little")
            joined = word if joined is None else _mix((joined * 0x9E3779B97F4A7C15 + word) % 2**64)
        out.append(joined)
    return out  # type: ignore[return-value]


def _mix(z: int) -> int:
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return z ^ (z >> 31)


def hashed(*arrays: pa.Array, compiled: bool = False) -> list[int]:
    return UnitHashes(len(arrays), SEED, compiled=compiled).of(arrays).tolist()


DAY = dt.date(2024, 2, 29)
ARRAYS: dict[str, pa.Array] = {
    "int8": pa.array([1, -2, None, 1], pa.int8()),
    "int32": pa.array([10**9, -(10**9), 0], pa.int32()),
    "int64": pa.array([2**62, -(2**63), 5, None]),
    "wide": pa.array([0, 2**40, 2**41]),
    "uint64": pa.array([2**63, 2**64 - 1, 1], pa.uint64()),
    "float64": pa.array([0.5, -0.0, 1e300, float("inf"), 2.0**63, -(2.0**63), None]),
    "float32": pa.array([0.1, 3.0], pa.float32()),
    "NaN": pa.array([float("nan"), 1.0, None]),
    "decimal": pa.array([Decimal("1.50"), Decimal("-0.07"), None]),
    "decimal256": pa.array([Decimal("12345678901234567890123456789.1"), Decimal(3)], pa.decimal256(60, 1)),
    "bool": pa.array([True, False, None]),
    "text": pa.array(["a", "", "ü€😀", "a\0", None, "x" * 300]),
    "texts": pa.array(["a", "", "ü€😀", "x" * 300]),
    "large text": pa.array(["a", "bc"], pa.large_string()),
    "ascii": pa.array(["s1", "s2", "s1"]),
    "text view": pa.array(["a", "b" * 40, None], pa.string_view()),
    "binary": pa.array([b"a", b"\xff", None]),
    "fixed binary": pa.array([b"ab", b"cd"], pa.binary(2)),
    "date32": pa.array([DAY, None]),
    "date64": pa.array([DAY, None], pa.date64()),
    "timestamp": pa.array([dt.datetime(9999, 12, 31), dt.datetime(1970, 1, 1)], pa.timestamp("s")),
    "zoned": pa.array([dt.datetime(2000, 1, 1)], pa.timestamp("us", "UTC")),
    "time": pa.array([dt.time(12, 30)], pa.time64("us")),
    "duration": pa.array([dt.timedelta(days=3)], pa.duration("ms")),
    "null": pa.nulls(3),
    "dictionary": pa.array(["b", None, "a", "b"]).dictionary_encode(),
    "dictionary of numbers": pa.array([3.0, 1.5, 3.0]).dictionary_encode(),
    "dictionary with null": pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array(["x", None])),
    "empty": pa.array([], pa.string()),
    "empty numbers": pa.array([], pa.int64()),
}


@ENGINES
@pytest.mark.parametrize("name", ARRAYS)
def test_every_type_is_hashed_as_row_by_row(name: str, compiled: bool) -> None:
    array = ARRAYS[name]
    assert hashed(array, compiled=compiled) == twin(array)
    assert hashed(array.slice(1), compiled=compiled) == twin(array)[1:]
    doubled = pa.concat_arrays([array, array])
    assert hashed(doubled, doubled, compiled=compiled) == twin(doubled, doubled)


@pytest.mark.parametrize("name", ARRAYS)
def test_bytes_of_arrays_are_those_of_their_values(name: str) -> None:
    array = ARRAYS[name]
    plain = array.dictionary_decode() if isinstance(array, pa.DictionaryArray) else array
    data, edges = key_bytes(plain)
    whole = data.tobytes()
    found = [whole[edges[i] : edges[i + 1]] for i in range(len(plain))]
    for message, component in zip(found, components(plain), strict=True):
        assert message == component_bytes(component) or (component == NULL and message)


ALIKE: list[list[tuple[Any, pa.DataType]]] = [
    [(7, t()) for t in (pa.int8, pa.uint8, pa.int32, pa.int64, pa.uint64, pa.float32, pa.float64)]
    + [(Decimal("7.00"), pa.decimal128(9, 2)), (7, pa.dictionary(pa.int8(), pa.int64()))],
    [(0.5, pa.float32()), (0.5, pa.float64()), (Decimal("0.50"), pa.decimal256(40, 2))],
    [(0.0, pa.float64()), (-0.0, pa.float64()), (0, pa.int8())],
    [(2**63, pa.uint64()), (2.0**63, pa.float64()), (Decimal(2**63), pa.decimal128(38, 0))],
    [("a", t) for t in (pa.string(), pa.large_string(), pa.string_view())]
    + [("a", pa.dictionary(pa.int8(), pa.string()))],
    [(DAY, pa.date32()), (DAY, pa.date64())],
    [(dt.datetime(2000, 1, 1), pa.timestamp(unit)) for unit in ("s", "ms", "us", "ns")],
    [(None, pa.null()), (None, pa.int64()), (None, pa.string()), (None, pa.float64())],
]  # fmt: skip


@ENGINES
def test_the_same_value_hashes_alike_whatever_its_type(compiled: bool) -> None:
    words = []
    for values in ALIKE:
        same = {hashed(pa.array([value], type_), compiled=compiled)[0] for value, type_ in values}
        assert len(same) == 1, values
        words += same
    words += hashed(pa.array(["7", "0.5", "", "null", "2024-02-29"]))
    assert len(set(words)) == len(ALIKE) + 5, "other values hash otherwise"


@given(
    st.lists(st.one_of(st.none(), st.integers(-300, 300), st.integers(-(2**63), 2**63 - 1)), max_size=60),
    st.lists(st.integers(0, 60), max_size=3),
    st.booleans(),
)
def test_batches_change_nothing(values: list[int | None], cuts: list[int], compiled: bool) -> None:
    array = pa.array(values, pa.int64())
    edges = sorted({0, len(values), *(min(c, len(values)) for c in cuts)})
    hashes = UnitHashes(1, SEED, compiled=compiled)
    parts = [array.slice(low, high - low) for low, high in itertools.pairwise(edges)]
    assert [int(w) for part in parts for w in hashes.of([part])] == twin(array)


@ENGINES
def test_a_table_of_integers_grows_in_both_directions(compiled: bool) -> None:
    hashes = UnitHashes(1, SEED, compiled=compiled)
    g = np.random.default_rng(0)
    for low, high in (
        (0, 10),
        (500, 600),
        (-700, 3),
        (0, 2**19),
        (-(2**40), 2**40),
        (0, 10),
        (2**62, 2**63 - 1),
    ):
        array = pa.array(g.integers(low, high, 40))
        assert hashes.of([array]).tolist() == twin(array)


@ENGINES
@pytest.mark.parametrize("kind", [pa.int64(), pa.string(), pa.float64()])
def test_columns_of_mostly_different_values(compiled: bool, kind: pa.DataType) -> None:
    """Batches that need no search for equal values, and some that do, nulls among them."""
    hashes = UnitHashes(1, SEED, compiled=compiled)
    g = np.random.default_rng(1)
    for n_values in (2**40, 2**40, 3, 2**40):
        array = pa.array(g.integers(0, n_values, 5_000), mask=g.random(5_000) < 0.1).cast(kind)
        found = hashes.of([array]).tolist()
        some = g.integers(0, 5_000, 20).tolist()
        assert [found[i] for i in some] == twin(array.take(pa.array(some)))


def test_other_seeds_and_columns_give_other_hashes() -> None:
    a, b = pa.array([1, 1]), pa.array([2, 3])
    assert UnitHashes(1, 1).of([a]).tolist() != UnitHashes(1, 2).of([a]).tolist()
    assert set(hashed(a, b)).isdisjoint(hashed(b, a))
    assert len(set(hashed(pa.array(["a", "ab"]), pa.array(["bc", "c"])))) == 2


def test_texts_that_are_not_utf8_are_told_apart() -> None:
    data = b"a\xffa\xfe"
    texts = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.py_buffer(np.array([0, 2, 4], np.int32)), pa.py_buffer(data)]
    )
    assert len(set(hashed(texts))) == 2 and hashed(texts) == twin(texts)


def test_types_that_cannot_be_keys() -> None:
    with pytest.raises(DataError, match="cannot be keys of groups or units"):
        key_bytes(pa.array([[1]]))


# --- through readers


def test_texts_are_read_as_dictionaries_unless_these_have_outgrown_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = pa.array([f"s{j % 7}" for j in range(3_000)])
    many = pa.array([f"user {j:06}" for j in range(3_000)])
    pq.write_table(pa.table({"x": np.zeros(3_000), "few": few, "many": many}), tmp_path / "a.parquet")
    other = {"x": [1.0], "few": ["a"], "many": ["a"], "lacking": ["a"]}
    pq.write_table(pa.table(other), tmp_path / "b.parquet")
    lake = open_lake(tmp_path)

    def units() -> list[pa.Array]:
        reader = lake.reader(ReadOptions(("x",), units=("few", "many", "lacking"), missing="null"))
        (batch,) = reader.batches(lake.files[0])
        return list(batch.units)

    assert [isinstance(a, pa.DictionaryArray) for a in units()] == [True, True, False]
    monkeypatch.setattr(footers, "DICTIONARY_BYTES", 1_000)
    found = units()
    assert [isinstance(a, pa.DictionaryArray) for a in found] == [True, False, False]
    assert found[0].dictionary_decode().equals(few) and found[1].equals(many)


def test_readers_deliver_units_from_files_folders_and_memory(tmp_path: Path) -> None:
    """A stored column, a folder's key, and a column that some files lack."""
    for i, folder in enumerate(("k=1", "k=2", "k=__HIVE_DEFAULT_PARTITION__")):
        columns = {"x": np.arange(5.0), "u": pa.array([f"s{j % 2}" for j in range(5)])}
        if i == 1:
            columns["v"] = pa.array(np.arange(5, dtype=np.int32))
        path = tmp_path / folder / "a.parquet"
        path.parent.mkdir()
        pq.write_table(pa.table(columns), path)
    lake = open_lake(tmp_path)
    options = ReadOptions(("x",), units=("k", "u", "v"), missing="null", batch_rows=2)
    reader = lake.reader(options)
    found = {}
    for file in lake.files:
        hashes = UnitHashes(3, SEED)
        found[file.path[:3]] = [int(w) for b in reader.batches(file) for w in hashes.of(b.units)]
    u = pa.array([f"s{j % 2}" for j in range(5)])
    assert found["k=1"] == twin(pa.array([1] * 5), u, pa.nulls(5))
    assert found["k=2"] == twin(pa.array([2] * 5), u, pa.array(range(5)))
    assert found["k=_"] == twin(pa.nulls(5), u, pa.nulls(5))
    memory = open_lake({"x": np.arange(5.0), "k": np.full(5, 2, np.int16), "u": u, "v": np.arange(5)})
    batches = memory.reader(options).batches(memory.files[0])
    again = UnitHashes(3, SEED)
    assert [int(w) for b in batches for w in again.of(b.units)] == found["k=2"]
