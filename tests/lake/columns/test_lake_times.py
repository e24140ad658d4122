"""Dates, timestamps and durations become float64 nanoseconds from a day near the first rows."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distmom.errors import BadFileError, DataError
from distmom.lake import ReadOptions, open_lake
from distmom.lake.columns.convert import converter
from distmom.lake.columns.times import DAY, TimeScale, duration_text, fraction

LEAST, MOST = -(2**63), 2**63 - 1
TYPES: dict[str, tuple[pa.DataType, int]] = {
    **{f"timestamp {u}": (pa.timestamp(u), n) for u, n in (("s", 9), ("ms", 6), ("us", 3), ("ns", 0))},
    "zoned": (pa.timestamp("us", "Europe/Berlin"), 3),
    "duration": (pa.duration("ms"), 6),
    "duration ns": (pa.duration("ns"), 0),
    "date64": (pa.date64(), 6),
}


def stored(counts: list[int | None], type_: pa.DataType) -> pa.Array:
    """An array with these stored counts, which Arrow would refuse in part to make."""
    data = np.array([0 if n is None else n for n in counts], "i4" if pa.types.is_date32(type_) else "i8")
    mask = np.packbits(np.array([n is not None for n in counts], bool), bitorder="little")
    return pa.Array.from_buffers(type_, len(counts), [pa.py_buffer(mask), pa.py_buffer(data)])


@pytest.mark.parametrize("name", TYPES)
@given(
    st.lists(st.one_of(st.none(), st.integers(LEAST, MOST), st.integers(-(10**6), 10**6)), max_size=20),
    st.one_of(st.integers(-800_000, 2_900_000), st.just(19_860)),
)
def test_offsets_are_the_exact_ones_rounded(name: str, counts: list[int | None], base: int) -> None:
    """Against fractions: once rounded for nanoseconds, twice for coarser units."""
    type_, power = TYPES[name]
    scale = TimeScale("timestamp", base=base)
    values, valid = converter(type_, scale)(stored(counts, type_))
    for i, count in enumerate(counts):
        if count is None:
            assert valid is not None and not valid[i]
            continue
        right = float(Fraction(count * 10**power - base * DAY))
        assert abs(values[i] - right) <= (math.ulp(right) if power else 0.0)


@given(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=9), st.integers(-10_000, 30_000))
def test_dates(days: list[int], base: int) -> None:
    values, valid = converter(pa.date32(), TimeScale("timestamp", base=base))(stored(list(days), pa.date32()))
    assert valid is None and values.tolist() == [float((day - base) * DAY) for day in days]


def test_dictionaries_and_nulls() -> None:
    moments = pa.array([5, None, 7, 5], pa.timestamp("us")).dictionary_encode()
    values, valid = converter(moments.type, TimeScale("timestamp"))(moments)
    assert values[[0, 2, 3]].tolist() == [5e3, 7e3, 5e3] and valid is not None
    assert valid.tolist() == [True, False, True, True]
    values, valid = converter(pa.null(), TimeScale("timestamp"))(pa.nulls(2))
    assert valid is not None and not valid.any()
    with pytest.raises(TypeError):
        converter(pa.timestamp("us"))


@pytest.mark.parametrize(
    ("type_", "scale"),
    [
        (pa.timestamp("s"), TimeScale("timestamp")),
        (pa.timestamp("ns", "UTC"), TimeScale("zoned", "ns", "UTC")),
        (pa.dictionary(pa.int8(), pa.timestamp("ns")), TimeScale("timestamp", "ns")),
        (pa.date32(), TimeScale("timestamp")),
        (pa.date64(), TimeScale("timestamp")),
        (pa.duration("ns"), TimeScale("duration", "ns")),
        (pa.int64(), None),
        (pa.time64("ns"), None),
        (pa.string(), None),
    ],
    ids=str,
)
def test_the_scale_of_a_type(type_: pa.DataType, scale: TimeScale | None) -> None:
    assert TimeScale.of(type_) == scale


def test_the_base_is_a_day_in_the_middle_of_the_values() -> None:
    day = 19_860  # in 2024
    moments = [day * DAY + 12 * 3600 * 10**9, None, (day + 2) * DAY, 0, 9_000 * DAY, (day + 1) * DAY, MOST]
    array = pa.array(moments, pa.timestamp("ns"))
    assert TimeScale("timestamp", "ns").near(array) == TimeScale("timestamp", "ns", base=day)
    assert TimeScale("timestamp").near(array.dictionary_encode()).base == day
    assert TimeScale("timestamp").near(pa.nulls(3, pa.timestamp("s"))).base == 0
    assert TimeScale("duration").near(pa.array([10**18], pa.duration("ns"))).base == 0
    assert TimeScale("timestamp").near(pa.array([-1], pa.timestamp("s"))).base == -1
    assert TimeScale("timestamp").near(stored([day], pa.date32())).base == day


def test_durations_as_text() -> None:
    assert [duration_text(n, 1000) for n in (0, 1, -1, 61_000, -3_723_500)] == [
        "PT0S",
        "PT0.001S",
        "-PT0.001S",
        "PT61S",
        "-PT3723.500S",
    ]
    assert fraction(1, 10**9) == ".000000001" and fraction(0, 1) == ""


# --- in lakes


def scale_of(path: Any, column: str = "t", **options: Any) -> TimeScale:
    reader = open_lake(path).reader(ReadOptions((column,), **options))
    return reader.options.scales[column]


YEAR_2024 = 19_723


def test_units_mix_and_nothing_is_cut_off(write, tmp_path, read) -> None:
    for i, unit in enumerate(("ms", "ns", "s", "us")):
        count = YEAR_2024 * DAY // {"ms": 10**6, "ns": 1, "s": 10**9, "us": 10**3}[unit] + 1
        write(f"t/{i}.parquet", {"t": pa.array([count, None], pa.timestamp(unit))}, version="2.6")
    # Parquet has no seconds: Arrow writes and reads them as milliseconds, of which this is one thousand
    assert read(tmp_path / "t", ("t",)).column() == [1e6, None, 1.0, None, 1e9, None, 1e3, None]
    assert scale_of(tmp_path / "t") == TimeScale("timestamp", "us", None, YEAR_2024)


@pytest.mark.parametrize(
    ("other", "word", "remedy"),
    [
        (pa.array([1]), "a number", "or rewrite the others"),
        (
            pa.array([1], pa.timestamp("ms", "UTC")),
            "a timestamp with a time zone",
            "or rewrite those without a time zone with theirs",
        ),
        (pa.array([1], pa.date32()), "a date", "or rewrite the dates as timestamps of their midnights"),
        (pa.array([1], pa.duration("ms")), "a duration", "or rewrite the others"),
    ],
    ids=lambda v: str(getattr(v, "type", v)),
)
@pytest.mark.parametrize("first", [0, 1])
def test_kinds_do_not_mix(write, tmp_path, read, other: pa.Array, word: str, remedy: str, first: int) -> None:
    write(f"t/{first}.parquet", {"t": pa.array([1], pa.timestamp("ms"))})
    write(f"t/{1 - first}.parquet", {"t": other})
    with pytest.raises(BadFileError, match=r"column 't' is .* do not mix") as caught:
        read(tmp_path / "t", ("t",))
    assert word in str(caught.value) and "a timestamp" in str(caught.value)
    assert str(caught.value).endswith(remedy)


def test_zones_mix_since_instants_are_the_same(write, tmp_path, read) -> None:
    for i, zone in enumerate(("Europe/Berlin", "UTC")):
        write(f"t/{i}.parquet", {"t": pa.array([DAY // 1000 + 5], pa.timestamp("us", zone))})
    assert read(tmp_path / "t", ("t",)).column() == [5e3, 5e3]
    assert scale_of(tmp_path / "t").zone == "Europe/Berlin"


def test_the_base_is_sought_where_the_first_files_have_no_values(write, tmp_path) -> None:
    nothing = pa.array([None] * 3, pa.timestamp("ns"))
    write("t/0.parquet", {"t": pa.array([], pa.timestamp("ns"))})
    write("t/1.parquet", {"t": nothing})
    (tmp_path / "t" / "2.parquet").write_bytes(b"PAR1 no footer PAR1")
    write("t/3.parquet", {"x": [1.0]})
    write("t/4.parquet", {"t": pa.chunked_array([nothing] * 999 + [pa.array([DAY], pa.timestamp("ns"))])})
    assert scale_of(tmp_path / "t", missing="null").base == 1
    assert scale_of(tmp_path / "t" / "1.parquet").base == 0


def test_a_store_that_fails_is_told_while_the_base_is_sought(write, tmp_path, monkeypatch) -> None:
    """Passing over the file would count from another day than the next run, with other last digits."""
    from distmom.errors import ResourceError
    from distmom.lake.files import footers

    def fails(*_: Any) -> None:
        raise OSError(5, "Input/output error")

    write("t/0.parquet", {"t": pa.array([DAY], pa.timestamp("ns"))})
    monkeypatch.setattr(footers, "first_values", fails)
    with pytest.raises(ResourceError, match="Input/output error; check the store"):
        scale_of(tmp_path / "t")


@pytest.mark.parametrize(
    ("array", "values", "kind"),
    [
        (np.array(["1970-01-02", "NaT"], "M8[D]"), [0.0, None], "timestamp"),
        (np.array([3, "NaT"], "M8[h]"), [3 * 3600e9, None], "timestamp"),
        (np.array([3, "NaT"], "m8[m]"), [180e9, None], "duration"),
        (np.array([2, "NaT"], "m8[D]"), [2.0 * DAY, None], "duration"),
        (np.array([2, "NaT"], "m8[ms]"), [2e6, None], "duration"),
    ],
    ids=lambda v: str(getattr(v, "dtype", "")),
)
def test_times_of_numpy(array: np.ndarray, values: list[float | None], kind: str, read) -> None:
    assert read(array, ("x",)).column() == values
    assert open_lake(array).reader(ReadOptions(("x",))).options.scales["x"].kind == kind
    masked = np.ma.array(array, mask=[True, False])
    assert read(masked, ("x",)).column() == [None, None]


@pytest.mark.parametrize("array", [np.array([2**40], "M8[D]"), np.array([2**62], "m8[h]")], ids=str)
def test_times_of_numpy_beyond_arrow_are_refused(array: np.ndarray) -> None:
    with pytest.raises(DataError, match="beyond the range"):
        open_lake(array)
