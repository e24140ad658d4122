"""List columns as vectors: against plain Python lists, for every type, slice, batch and file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distmom.errors import DataError, NoAnswerError
from distmom.lake import ReadOptions, as_filter, open_lake
from distmom.lake.columns.vectors import WrongLength, components, lengths

Write = Callable[..., Path]
Read = Any


def twin(array: pa.Array, width: int) -> list[list[float | None]]:
    """Rows of a list array by way of Python objects."""
    rows = array.to_pylist()
    return [[None] * width if r is None else [None if v is None else float(v) for v in r] for r in rows]


def rows_of(columns: list[tuple[Any, Any]]) -> list[list[float | None]]:
    found = [
        [None if valid is not None and not valid[i] else float(values[i]) for i in range(len(values))]
        for values, valid in columns
    ]
    assert all(values.flags.c_contiguous and values.dtype == np.float64 for values, _ in columns)
    return [list(row) for row in zip(*found, strict=True)]


element = st.integers(-100, 100) | st.none()


@given(
    st.integers(1, 3).flatmap(
        lambda d: st.lists(st.none() | st.lists(element, min_size=d, max_size=d), max_size=12).map(
            lambda rows: (d, rows)
        )
    ),
    st.sampled_from([pa.float64(), pa.float32(), pa.float16(), pa.int32(), pa.int8(), pa.decimal128(10, 2)]),
    st.sampled_from(["fixed", "list", "large"]),
    st.integers(0, 12),
    st.integers(0, 12),
)
def test_components_against_python_lists(
    drawn: tuple[int, list[Any]], kind: pa.DataType, form: str, start: int, stop: int
) -> None:
    width, rows = drawn
    types = {"fixed": pa.list_(kind, width), "list": pa.list_(kind), "large": pa.large_list(kind)}
    array = pa.array(rows, types[form])
    for part in (array, array.slice(start), array.slice(start, stop), pa.concat_arrays([array, array[1:]])):
        assert rows_of(components(part, width, None)) == twin(part, width)[: len(part)]
        values, valid = lengths(part)
        known = [True] * len(part) if valid is None else valid.tolist()
        assert known == part.is_valid().to_pylist()
        assert {v for v, ok in zip(values.tolist(), known, strict=True) if ok} <= {width}


def test_nulls_that_hide_elements() -> None:
    """A null row of a list array may still own elements, or have none in an array of fixed size."""
    values = pa.array(np.arange(8.0))
    hidden = pa.ListArray.from_arrays(
        pa.array([0, 2, 5, 7], pa.int32()), values, mask=pa.array([False, True, False])
    )
    assert rows_of(components(hidden, 2, None)) == [[0, 1], [None, None], [5, 6]]
    fixed = pa.FixedSizeListArray.from_arrays(values, 2, mask=pa.array([False, True, False, False]))
    assert rows_of(components(fixed.slice(1, 2), 2, None)) == [[None, None], [4, 5]]


def test_rows_that_do_not_count_may_have_any_length() -> None:
    array = pa.array([[1, 2], [3], None, [], [7, 8, 9], [5, 6]], pa.list_(pa.int64()))
    with pytest.raises(WrongLength) as caught:
        components(array, 2, None)
    assert (caught.value.row, caught.value.length) == (1, 1)
    keep = np.array([True, False, True, False, False, True])
    found = rows_of(components(array, 2, keep))
    assert found[0] == [1, 2] and found[5] == [5, 6] and found[2] == [None, None]
    keep[4] = True
    with pytest.raises(WrongLength) as caught:
        components(array, 2, keep)
    assert (caught.value.row, caught.value.length) == (4, 3)


# --- lakes

SLICED = pa.array([[0, 0], [1, 2], [3, 4], None, [7, 8]], pa.list_(pa.float64(), 2))


@pytest.mark.parametrize("type_", [SLICED.type, pa.list_(pa.float64()), pa.large_list(pa.float32())], ids=str)
@pytest.mark.parametrize("batch_rows", [1, 2, 3, 100])
def test_sliced_lists_with_null_rows(
    type_: pa.DataType, batch_rows: int, write: Write, tmp_path: Path
) -> None:
    """Vectors stay with their rows, whatever the row groups and batches, one of which is all null."""
    rows = [*SLICED.to_pylist(), None, None, [1, 1]]
    write("t/0.parquet", {"id": range(8), "v": pa.array(rows, type_)}, row_group_size=2)
    source = open_lake(tmp_path / "t")
    reader = source.reader(ReadOptions(("id", "v"), batch_rows=batch_rows, vectors=()))
    assert reader.options.value_names == ("id", "v[0]", "v[1]")
    assert reader.options.vectors == (("v", 2),)
    for start, stop in ((0, None), (1, 4), (3, 7), (5, 6)):
        found: list[list[float | None]] = []
        for batch in reader.batches(source.files[0], start, stop):
            found += rows_of(list(zip(batch.values, batch.valid, strict=True)))
        expected = [[float(i), *([None, None] if r is None else map(float, r))] for i, r in enumerate(rows)]
        assert found == expected[start:stop]


def test_a_slice_in_memory(read: Read) -> None:
    table = pa.table({"v": SLICED, "id": range(5)})
    for data in (table.slice(1, 3), pa.concat_tables([table.slice(1, 1), table.slice(2, 2)])):
        assert read(data, ("v", "id"), vectors=()).values == [(1, 2, 1), (3, 4, 2), (None, None, 3)]
    assert read(SLICED.slice(4), ("x",), vectors=()).values == [(7, 8)]
    assert read([[1, 2], [3, 4]], ("x",), vectors=()).values == [(1, 2), (3, 4)]
    assert read({"w": [[1.0], None]}, ("w",), vectors=()).values == [(1,), (None,)]


def test_files_of_different_types_and_of_nulls_alone(write: Write, tmp_path: Path, read: Read) -> None:
    write("0.parquet", {"v": pa.nulls(2)})
    write("1.parquet", {"v": pa.array([None, None], pa.list_(pa.float64()))})
    write("2.parquet", {"v": pa.array([None, [1, 2]], pa.list_(pa.int64()))})
    write("3.parquet", {"v": pa.array([[3, 4]], pa.list_(pa.float32(), 2))})
    write("4.parquet", {"w": pa.array([0])})
    write("5.parquet", {"v": pa.array([[None, True]], pa.large_list(pa.bool_()))})
    found = read(tmp_path, ("v",), vectors=(), missing="null").values
    assert found == [*[(None, None)] * 5, (1, 2), (3, 4), (None, None), (None, 1)]


def test_only_the_asked_list_is_read_among_nested_columns(write: Write, tmp_path: Path) -> None:
    g = np.random.default_rng(0)
    noise = pa.array(g.normal(size=(500, 3)).tolist(), pa.list_(pa.float64(), 3))
    columns = {
        "s": pa.array([{"v": [1.0], "b": {"c": 2}}] * 500),
        "m": pa.array([[("k", 1)]] * 500, pa.map_(pa.string(), pa.int64())),
        "v.list": g.normal(size=500),
        "v": noise,
        "n": pa.array([[[1, 2]]] * 500),
    }
    path = write("a.parquet", columns)
    source = open_lake(tmp_path)
    reader = source.reader(ReadOptions(("v", "v.list"), vectors=()))
    [batch] = reader.batches(source.files[0])
    np.testing.assert_array_equal(np.column_stack(batch.values[:3]), noise.to_pylist())
    np.testing.assert_array_equal(batch.values[3], columns["v.list"])
    group = pq.read_metadata(path).row_group(0)
    names = {group.column(i).path_in_schema: group.column(i) for i in range(group.num_columns)}
    assert batch.n_bytes == sum(
        names[n].total_compressed_size for n in ("v.list.element", "v.list") if n in names
    )
    with pytest.raises(DataError, match=r"'n'.*list"):
        source.reader(ReadOptions(("n",), vectors=()))


def test_without_leave_lists_are_refused_with_the_remedy(write: Write, tmp_path: Path) -> None:
    write("a.parquet", {"v": SLICED})
    with pytest.raises(DataError, match=r"'v'.*fixed_size_list.*a\.parquet.*joint=True"):
        open_lake(tmp_path).reader(ReadOptions(("v",)))
    with pytest.raises(DataError, match=r"'v'.*cannot be a key"):
        open_lake(tmp_path).reader(ReadOptions((), ("v",)))


def test_numbers_and_lists_do_not_mix(write: Write, tmp_path: Path) -> None:
    write("0.parquet", {"v": pa.array([1.0])})
    write("1.parquet", {"v": SLICED})
    source = open_lake(tmp_path)
    reader = source.reader(ReadOptions(("v",), vectors=()))
    with pytest.raises(DataError, match=r"'v' is double in 0\.parquet but fixed_size_list.* in 1\.parquet"):
        list(reader.batches(source.files[1]))


@pytest.mark.parametrize("form", ["list", "fixed"])
def test_another_length_names_file_row_and_both_lengths(form: str, write: Write, tmp_path: Path) -> None:
    short, long = (pa.list_(pa.int64(), *([n] if form == "fixed" else [])) for n in (2, 3))
    write("0.parquet", {"v": pa.array([None, [1, 2]], short), "k": [1, 1]})
    write("1.parquet", {"v": pa.array([None] * 6 + [[1, 2, 3]], long), "k": [1, 1, 1, 1, 1, 1, 5]})
    source = open_lake(tmp_path)
    reader = source.reader(ReadOptions(("v",), vectors=(), batch_rows=4))
    with pytest.raises(DataError, match=r"1\.parquet: column 'v' .*length 3 in row 6,.* length 2; .*where"):
        list(reader.batches(source.files[1]))
    for where, width in (("k < 5", 2), ("k = 5", 3)):
        reader = source.reader(ReadOptions(("v",), where=as_filter(where, source), vectors=()))
        assert dict(reader.options.vectors or ()) == {"v": 2 if form == "fixed" else width}
        if form == "list":
            for file in source.files:
                list(reader.batches(file))


def test_no_vector_and_empty_vectors(write: Write, tmp_path: Path) -> None:
    write("0.parquet", {"v": pa.array([None, [1.0]], pa.list_(pa.float64())), "k": [1, 2]})
    source = open_lake(tmp_path)
    with pytest.raises(NoAnswerError, match=r"'v'.*no row of the data has a usable vector"):
        source.reader(ReadOptions(("v",), where=as_filter("k = 1", source), vectors=()))
    write("0.parquet", {"v": pa.array([None, []], pa.list_(pa.float64()))})
    with pytest.raises(DataError, match=r"0\.parquet: column 'v' has an empty list in row 1"):
        open_lake(tmp_path).reader(ReadOptions(("v",), vectors=()))
    (tmp_path / "0.parquet").write_bytes(b"PAR1 this is not a Parquet file PAR1")
    write("1.parquet", {"v": pa.array([[4, 5]])})
    assert open_lake(tmp_path).reader(ReadOptions(("v",), vectors=())).options.vectors == (("v", 2),)
