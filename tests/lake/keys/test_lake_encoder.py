from __future__ import annotations

import datetime
import itertools
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distmom.errors import DataError
from distmom.lake import KeyEncoder, decode_key
from distmom.lake.keys import codes as code_tables
from distmom.lake.keys import encoder


def canonical(value: Any) -> Any:
    """The obvious twin: Python's own equality, with NaN one value and text apart from numbers."""
    if value is None:
        return ("null",)
    if isinstance(value, float) and value != value:
        return ("nan",)
    return (type(value).__name__ if isinstance(value, (str, bytes, bool)) else "number", value)


def number(rows: list[tuple[Any, ...]], keep: list[bool]) -> tuple[list[int], list[tuple[Any, ...]]]:
    seen: dict[Any, int] = {}
    first: list[tuple[Any, ...]] = []
    codes = []
    for row, kept in zip(rows, keep, strict=True):
        key = tuple(canonical(value) for value in row)
        if kept and key not in seen:
            seen[key] = len(seen)
            first.append(row)
        codes.append(seen[key] if kept else -1)
    return codes, first


def check(columns: list[pa.Array], keep: list[bool] | None, cuts: list[int]) -> None:
    for compiled in (False, True):
        check_engine(columns, keep, cuts, compiled)


def check_engine(columns: list[pa.Array], keep: list[bool] | None, cuts: list[int], compiled: bool) -> None:
    n = len(columns[0])
    encoder = KeyEncoder(len(columns), compiled=compiled)
    codes: list[int] = []
    for low, high in itertools.pairwise([0, *sorted(cuts), n]):
        part = None if keep is None else np.array(keep[low:high], bool)
        arrays = tuple(column.slice(low, high - low) for column in columns)
        codes += encoder.encode(arrays, part).tolist()
    rows = list(zip(*[column.to_pylist() for column in columns], strict=True))
    expected, first = number(rows, [True] * n if keep is None else keep)
    assert codes == expected
    assert encoder.n_keys == len(first)
    decoded = [decode_key(key) for key in encoder.keys]
    assert [tuple(map(canonical, key)) for key in decoded] == [tuple(map(canonical, key)) for key in first]


VALUES: dict[str, tuple[st.SearchStrategy[Any], pa.DataType]] = {
    "int32": (st.integers(-3, 3), pa.int32()),
    "int64": (st.sampled_from([0, 5, 2**53, 2**53 + 1, -(2**63), 2**63 - 1]), pa.int64()),
    "uint64": (st.sampled_from([0, 1, 2**64 - 1, 2**63]), pa.uint64()),
    "int16": (st.integers(-(2**15), 2**15 - 1), pa.int16()),
    "float": (st.sampled_from([0.0, -0.0, 1.5, math.nan, math.inf]), pa.float64()),
    "text": (st.sampled_from(["", "a", "b", "größe"]), pa.string()),
    "large text": (st.sampled_from(["", "a", "b"]), pa.large_string()),
    "text view": (st.sampled_from(["", "a", "b"]), pa.string_view()),
    "bytes view": (st.sampled_from([b"", b"a"]), pa.binary_view()),
    "bytes": (st.sampled_from([b"", b"a"]), pa.binary()),
    "bool": (st.booleans(), pa.bool_()),
    "decimal": (st.sampled_from([Decimal("1.50"), Decimal("2.00")]), pa.decimal128(5, 2)),
    "date": (st.sampled_from([datetime.date(2024, 1, 31), datetime.date(1969, 1, 1)]), pa.date32()),
    "null": (st.none(), pa.null()),
}


@st.composite
def columns(draw: st.DrawFn) -> pa.Array:
    values, kind = VALUES[draw(st.sampled_from(sorted(VALUES)))]
    array = pa.array(draw(st.lists(values | st.none(), min_size=12, max_size=12)), kind)
    encode = draw(st.booleans()) and kind not in (pa.null(), pa.string_view(), pa.binary_view())
    return array.dictionary_encode() if encode else array


def test_a_table_reaches_rows_beyond_one_chunk():
    """Values that are known, then one outside of the table, one that is new, one below it."""
    keys_of_batches = [np.arange(10_000) % 50, np.full(5_000, 7), np.r_[np.full(4_000, 3), -5], np.r_[7, 50]]
    for dtype in (np.int32, np.int64):
        encoders = [KeyEncoder(1, compiled=compiled) for compiled in (False, True)]
        for values in keys_of_batches:
            array = pa.array(values.astype(dtype))
            slow, fast = (encoder.encode((array,), None) for encoder in encoders)
            assert np.array_equal(slow, fast)
        assert encoders[0].keys == encoders[1].keys and encoders[0].n_keys == 52


cut_points = st.lists(st.integers(0, 12), max_size=4)
masks = st.none() | st.lists(st.booleans(), min_size=12, max_size=12)


@given(columns(), masks, cut_points)
def test_one_column_equals_the_obvious_numbering(column, keep, cuts):
    check([column], keep, cuts)


@given(st.lists(columns(), min_size=2, max_size=3), masks, cut_points)
def test_several_columns_equal_the_obvious_numbering(several, keep, cuts):
    check(several, keep, cuts)


@given(st.lists(columns(), min_size=2, max_size=3), masks, cut_points)
def test_without_tables_it_is_the_same(several, keep, cuts):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoder, "MOST_TABLE_ENTRIES", 2)
        patch.setattr(code_tables, "MOST_TABLE_ENTRIES", 2)
        patch.setattr(code_tables, "SMALL_DICTIONARY", 1)
        check(several, keep, cuts)


@given(st.lists(st.integers(-(10**7), 10**7) | st.integers(0, 50), min_size=1, max_size=60), cut_points)
def test_integer_table_grows_both_ways(values, cuts):
    check([pa.array(values)], None, [min(cut, len(values)) for cut in cuts])


def test_ids_above_2_to_53_stay_apart_and_null_is_a_group(write, read):
    ids = [4873214862074861312, None, 4873214862074861313]
    path = write("a.parquet", {"id": pa.array(ids, pa.int64()), "x": [1.0, 2.0, 3.0]})
    rows = read(path, ("x",), ("id",))
    assert dict(zip(rows.keys, rows.column(), strict=True)) == {(ids[0],): 1.0, (None,): 2.0, (ids[2],): 3.0}


def test_one_group_whatever_the_type():
    encoder = KeyEncoder(1)
    arrays = [
        pa.array([1, 2], pa.int8()), pa.array([2.0, 1.0, 0.0]), pa.array([1], pa.uint64()),
        pa.array([Decimal("1.0")], pa.decimal128(3, 1)), pa.array([-0.0], pa.float32()), pa.array([0]),
        pa.array([2**60, 1]), pa.array([2.0**60]),
    ]  # fmt: skip
    codes = [encoder.encode((array,), None).tolist() for array in arrays]
    assert codes == [[0, 1], [1, 0, 2], [0], [0], [2], [2], [3, 0], [3]]


def test_true_is_not_one_and_text_is_not_a_number():
    encoder = KeyEncoder(1)
    codes = [encoder.encode((pa.array(v),), None).tolist() for v in ([1], [True], ["1"], [b"1"], [None])]
    assert codes == [[0], [1], [2], [3], [4]]
    assert sorted(encoder.keys) == [((0,),), ((1, 1),), ((3, True),), ((4, "1"),), ((5, b"1"),)]


def test_moments_of_any_unit_are_one_group():
    moment = datetime.datetime(2024, 1, 31, 12)
    encoder = KeyEncoder(1)
    for unit in ("s", "ms", "us", "ns"):
        assert encoder.encode((pa.array([moment], pa.timestamp(unit)),), None).tolist() == [0]
    assert encoder.encode((pa.array([moment], pa.timestamp("ms", "UTC")),), None).tolist() == [1]
    assert encoder.encode((pa.array([moment.date()], pa.date64()),), None).tolist() == [2]
    assert encoder.encode((pa.array([moment.date()], pa.date32()),), None).tolist() == [2]
    assert [decode_key(key)[0] for key in encoder.keys] == [
        moment, moment.replace(tzinfo=datetime.UTC), moment.date()
    ]  # fmt: skip


def test_moments_that_python_cannot_hold_become_text():
    encoder = KeyEncoder(1)
    encoder.encode((pa.array([1], pa.timestamp("ns")),), None)
    encoder.encode((pa.array([2**40], pa.timestamp("s")),), None)
    encoder.encode((pa.array([1], pa.time64("ns")),), None)
    encoder.encode((pa.array([90_000], pa.duration("ms")),), None)
    encoder.encode((pa.array([2**31 - 1], pa.int32()).view(pa.date32()),), None)
    assert [decode_key(key)[0] for key in encoder.keys] == [
        "1970-01-01T00:00:00.000000001",
        "36812-02-20T00:36:16.000000000",
        "00:00:00.000000001",
        datetime.timedelta(seconds=90),
        "5881580-07-11",
    ]


def test_texts_that_are_not_utf8_stay_apart():
    offsets = pa.py_buffer(np.array([0, 1, 2, 6, 7], np.int32))
    data = pa.py_buffer(b"\xff\xfe\\xff\xff")
    array = pa.Array.from_buffers(pa.string(), 4, [None, offsets, data])
    encoder = KeyEncoder(1)
    assert encoder.encode((array,), None).tolist() == [0, 1, 2, 0]
    assert [decode_key(key) for key in encoder.keys] == [("\ufffdxff",), ("\ufffdxfe",), ("\\xff",)]


def test_no_column_is_one_group():
    encoder = KeyEncoder(0)
    assert encoder.encode((), None, 3).tolist() == [0, 0, 0]
    assert encoder.encode((), np.array([True, False])).tolist() == [0, -1]
    assert encoder.keys == [()] and encoder.n_keys == 1


def test_types_that_cannot_be_keys():
    with pytest.raises(DataError, match="cannot be keys of groups"):
        KeyEncoder(1).encode((pa.DictionaryArray.from_arrays([0], pa.array([[1]])),), None)


def test_many_keys():
    rng = np.random.default_rng(0)
    wide = rng.integers(0, 2**62, 20_000)
    encoder = KeyEncoder(1)
    codes = [encoder.encode((pa.array(rng.permutation(wide)),), None).copy() for _ in range(3)]
    assert encoder.n_keys == len(set(wide.tolist()))
    assert all(sorted(set(part.tolist())) == list(range(encoder.n_keys)) for part in codes)
    pairs = KeyEncoder(2)
    left, right = rng.integers(0, 3_000, 20_000), rng.integers(0, 3_000, 20_000)
    codes = pairs.encode((pa.array(left), pa.array(right)), None)
    assert pairs.n_keys == len(set(zip(left.tolist(), right.tolist(), strict=True)))
    assert [decode_key(pairs.keys[code]) for code in codes[:50]] == list(
        zip(left[:50].tolist(), right[:50].tolist(), strict=True)
    )
