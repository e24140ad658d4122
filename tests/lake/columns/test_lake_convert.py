from __future__ import annotations

import math
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distmom.lake.columns.convert import to_float64, valid_rows

DECIMALS = [Decimal("9.999"), Decimal("1.234"), None, Decimal("-0.001")]

ARRAYS = {
    **{
        str(t): pa.array([1, None, 100, 7, None, 0], t)
        for t in (
            pa.int8(),
            pa.int16(),
            pa.int32(),
            pa.int64(),
            pa.uint8(),
            pa.uint16(),
            pa.uint32(),
            pa.uint64(),
        )
    },
    **{str(t): pa.array([1.5, None, math.nan, math.inf, -0.0], t) for t in (pa.float32(), pa.float64())},
    "float16": pa.array(np.array([1.5, 1000, np.nan, -np.inf], np.float16)),
    "bool": pa.array([True, False, None, True, True, False, False, True, None, True]),
    "null": pa.nulls(5),
    "dictionary": pa.array([3, None, 5, 3], pa.int64()).dictionary_encode(),
    "dictionary of floats": pa.DictionaryArray.from_arrays(
        pa.array([1, 0, None, 2], pa.int8()), pa.array([0.5, None, math.nan])
    ),
    "empty dictionary": pa.DictionaryArray.from_arrays(
        pa.array([None, None], pa.int8()), pa.array([], pa.int32())
    ),
    **{
        str(t): pa.array(DECIMALS, t)
        for t in (pa.decimal32(4, 3), pa.decimal64(4, 3), pa.decimal128(4, 3), pa.decimal256(4, 3))
    },
    "large integers": pa.array([2**63 - 1, -(2**63), 2**53 + 1, None]),
    "large unsigned": pa.array([2**64 - 1, 2**53 + 1, None], pa.uint64()),
}


def one_by_one(array: pa.Array) -> list[float | None]:
    return [None if value is None else float(value) for value in array.to_pylist()]


def same(array: pa.Array) -> None:
    values, valid = to_float64(array)
    expected = one_by_one(array)
    assert values.dtype == np.float64 and values.flags.c_contiguous and len(values) == len(array)
    known = [True] * len(array) if valid is None else valid.tolist()
    assert known == [value is not None for value in expected]
    assert (valid is not None) == (None in expected)
    for value, ok, right in zip(values.tolist(), known, expected, strict=True):
        if ok:
            assert np.float64(value).tobytes() == np.float64(right).tobytes() or (
                value != value and right != right
            )


@pytest.mark.parametrize("name", ARRAYS)
def test_every_numeric_type_equals_conversion_one_by_one(name):
    same(ARRAYS[name])


@pytest.mark.parametrize("name", ARRAYS)
def test_slices_with_offsets(name):
    array = ARRAYS[name]
    for start in range(len(array)):
        for stop in range(start, len(array) + 1):
            same(array.slice(start, stop - start))


@given(st.lists(st.none() | st.booleans(), max_size=40), st.integers(0, 40))
def test_bitmaps_at_any_offset(values, start):
    array = pa.array(values, pa.bool_()).slice(min(start, len(values)))
    same(array)


def test_float64_is_a_view_of_arrow_memory():
    array = pa.array([1.0, 2.0, 3.0]).slice(1)
    values, valid = to_float64(array)
    assert valid is None
    assert values.__array_interface__["data"][0] == array.buffers()[1].address + 8
    assert not values.flags.writeable


def test_nan_is_not_null():
    values, valid = to_float64(pa.array([1.0, None, math.nan, math.inf, 2.0]))
    assert valid is not None
    assert valid.tolist() == [True, False, True, True, True]
    assert np.isnan(values[2]) and values[3] == math.inf


@given(st.lists(st.integers(-(10**37), 10**37), min_size=1, max_size=20), st.integers(-5, 38))
def test_decimals_are_rounded_once(unscaled, scale):
    exact = [Decimal(f"{value}E{-scale}") for value in unscaled]
    array = pa.array(exact, pa.decimal256(76, scale)).cast(pa.decimal128(38, scale))
    assert to_float64(array)[0].tolist() == [float(value) for value in exact]


def test_decimals_where_arrows_own_cast_is_off():
    unscaled = np.random.default_rng(0).integers(-(10**18), 10**18, 5_000)
    exact = [Decimal(f"{value}E-7") for value in unscaled]
    array = pa.array(exact, pa.decimal128(38, 7))
    expected = [float(value) for value in exact]
    assert array.cast(pa.float64()).to_pylist() != expected  # else the longer way is not needed any more
    assert to_float64(array)[0].tolist() == expected


def test_mean_of_small_decimals():
    array = pa.array([Decimal(s) for s in ("9.999", "1.234", "1.234", "1.234")], pa.decimal128(4, 3))
    assert to_float64(array)[0].mean() == pytest.approx(3.42525, abs=1e-15)


def test_null_slots_of_decimals_may_hold_anything():
    data = pa.py_buffer(b"\xff" * 8 + b"\x7f" * 8 + (1500).to_bytes(16, "little"))
    array = pa.Array.from_buffers(pa.decimal128(38, 3), 2, [pa.py_buffer(b"\x02"), data])
    values, valid = to_float64(array)
    assert valid is not None and valid.tolist() == [False, True]
    assert values[1] == 1.5


def test_types_without_numbers_are_refused():
    for array in (pa.array(["1"]), pa.array([[1.0]]), pa.array([b"1"]), pa.array(["a"]).dictionary_encode()):
        with pytest.raises(TypeError, match="holds no numbers"):
            to_float64(array)


def test_valid_rows_of_an_empty_array():
    assert valid_rows(pa.nulls(0)) is None
    assert to_float64(pa.array([], pa.float64()))[0].shape == (0,)


def test_reading_filtering_and_grouping_never_import_pandas(write, tmp_path):
    columns = {
        "x": pa.array([1.0, None, 3.0]),
        "d": pa.array([Decimal("1.5"), None, Decimal("2.5")], pa.decimal128(38, 18)),
        "k": pa.array([1, 2, None]),
        "wide": pa.array([1, 2**60, None]),
        "s": pa.array(["a", None, "b"]),
        "t": pa.array([1, 2, 3], pa.timestamp("ns")),
    }
    write("t/day=1/a.parquet", {**columns, "day": [1, 1, 1]})
    program = """
import sys
from distmom.lake import KeyEncoder, ReadOptions, as_filter, decode_key, open_lake
source = open_lake(sys.argv[1])
text = "(x > 0 or s in ('a', 'b')) and t >= '1970-01-01' and d < 3.5 and day = 1 and k != 0.5"
where = as_filter(text, source)
for names in (("k", "s", "day"), ("wide", "t", "x")):
    reader = source.reader(ReadOptions(("x", "d", "k"), names, where))
    encoder = KeyEncoder(3)
    for batch in reader.batches(source.files[0]):
        encoder.encode(batch.keys, batch.keep)
    assert encoder.keys and [decode_key(key) for key in encoder.keys]
assert "pandas" not in sys.modules, "pandas was imported"
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, str(tmp_path / "t")],
        capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    pytest.importorskip("pandas")  # without it the test would prove nothing
