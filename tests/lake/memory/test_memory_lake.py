from __future__ import annotations

import math
import pickle

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distmom.errors import ConfigError, DataError
from distmom.lake import MemoryLake, ReadOptions, as_filter, open_lake


def batches(data, columns=("x",), start=0, stop=None, **options):
    source = open_lake(data)
    reader = source.reader(ReadOptions(columns, **options))
    return list(reader.batches(source.files[0], start, stop))


def test_an_array_is_one_file_without_a_name():
    source = open_lake(np.arange(5.0))
    assert isinstance(source, MemoryLake)
    assert [file.path for file in source.files] == [""]
    assert source.row_counts().tolist() == [5]
    assert source.n_bytes == 40 and source.partition_names == ()
    assert source.schema() == pa.schema([("x", pa.float64())])


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def test_float64_is_not_copied_even_if_read_only():
    for array in (np.arange(10.0), np.arange(10.0)[2:8]):
        array.flags.writeable = False
        (batch,) = batches(array)
        assert address(batch.values[0]) == address(array)
    table = pa.table({"x": pa.chunked_array([[1.0, 2.0], [3.0]])})
    (batch,) = batches(table.slice(0, 2))
    assert address(batch.values[0]) == table["x"].chunk(0).buffers()[1].address
    assert not batch.values[0].flags.writeable


@pytest.mark.parametrize(
    "array",
    [
        np.arange(10.0)[::3],
        np.arange(10.0)[::-1],
        np.arange(10, dtype=">f8"),
        np.arange(10, dtype=">i4"),
        np.arange(10, dtype=np.uint8),
        np.array([1.5, math.nan, math.inf], np.float16),
        np.array([2**64 - 1, 1], np.uint64),
        np.array([True, False, True]),
        np.array([1.5, 2.5], np.longdouble),
        np.array([]),
    ],
)
def test_arrays_of_any_layout_and_type(array):
    values = [value for batch in batches(array, batch_rows=2) for value in batch.values[0]]
    np.testing.assert_array_equal(values, array.astype(np.float64))


def test_columns_of_a_matrix_and_of_a_structured_array():
    matrix = np.arange(12.0).reshape(4, 3)
    (batch,) = batches(matrix, ("2", "0"))
    assert batch.values[0].tolist() == [2.0, 5.0, 8.0, 11.0]
    assert batch.values[0].flags.c_contiguous
    (batch,) = batches(np.asfortranarray(matrix), ("1",))
    assert batch.values[0].tolist() == [1.0, 4.0, 7.0, 10.0]
    records = np.array([(1, 2.5, "a"), (3, 4.5, "b")], [("k", "i4"), ("v", "f8"), ("s", "U3")])
    (batch,) = batches(records, ("v", "k"), by=("s",))
    assert [values.tolist() for values in batch.values] == [[2.5, 4.5], [1.0, 3.0]]
    assert batch.keys[0].to_pylist() == ["a", "b"]


def test_masked_values_are_null_and_nan_is_not():
    array = np.ma.masked_array([1.0, 2.0, math.nan, 4.0, 5.0], [False, True, False, False, True])
    first, second, third = batches(array, batch_rows=2)
    assert first.valid[0].tolist() == [True, False]
    assert second.valid[0] is None and math.isnan(second.values[0][0])
    assert third.valid[0].tolist() == [False]
    matrix = np.ma.masked_array([[1.0, 2.0]], [[False, True]])
    (batch,) = batches(matrix, ("0", "1"))
    assert batch.valid[0] is None and batch.valid[1].tolist() == [False]


def test_dict_of_columns():
    data = {
        "x": np.arange(3.0),
        "k": ["a", "b", None],
        "d": pa.array([1, None, 3]),
        "m": np.ma.masked_array([1, 2, 3], [0, 1, 0]),
        "t": np.array(["2024-01-31", "NaT", "1970-01-01"], "M8[s]"),
        "o": np.array([1.5, None, 2.5], object),
    }
    (batch,) = batches(data, ("x", "d", "m", "o"), by=("k", "t"))
    assert [None if v is None else v.tolist() for v in batch.valid] == [None, *[[True, False, True]] * 3]
    assert batch.keys[1].to_pylist()[1] is None
    assert batch.keys[0].to_pylist() == ["a", "b", None]
    with pytest.raises(DataError, match="column 'y' has 2 rows but column 'x' has 3"):
        open_lake({"x": np.arange(3.0), "y": np.arange(2.0)})
    with pytest.raises(DataError, match=r"column 'x': .*give values of one type"):
        open_lake({"x": [1.0, "a"]})
    with pytest.raises(ConfigError, match="names of columns must be texts, not 3"):
        open_lake({3: [1.0]})
    with pytest.raises(DataError, match="a column must have one dimension"):
        open_lake(np.zeros(2, [("x", "f8", 3)]))
    with pytest.raises(DataError, match="column 'x' has 2 columns"):
        open_lake({"x": np.zeros((2, 2))})


class Stream:
    """An object that offers the Arrow PyCapsule interface and nothing else."""

    def __init__(self, data):
        self._data = data

    def __arrow_c_stream__(self, requested_schema=None):
        return self._data.__arrow_c_stream__(requested_schema)


class Single:
    """The same for one array."""

    def __init__(self, data):
        self._data = data

    def __arrow_c_array__(self, requested_schema=None):
        return self._data.__arrow_c_array__(requested_schema)


def test_anything_with_the_arrow_capsule_interface():
    table = pa.table({"x": [1.0, None, 3.0], "s": ["a", "b", "a"]})
    chunked = pa.chunked_array([[1.0, None], [3.0]])
    for data in (
        table, table.to_batches()[0], Stream(table), Single(table.to_batches()[0]), Stream(chunked),
        Single(table["x"].chunk(0)), chunked, chunked.combine_chunks(), table.to_reader(),
    ):  # fmt: skip
        found = batches(data)
        assert [v for batch in found for v in batch.values[0]][::2] == [1.0, 3.0]
        assert sum(0 if batch.valid[0] is None else int((~batch.valid[0]).sum()) for batch in found) == 1


def test_frames_of_pandas():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": [1.0, 2.0, 4.0], "s": ["a", "b", "a"]})
    (batch,) = batches(frame, by=("s",))
    assert batch.values[0].tolist() == [1.0, 2.0, 4.0]
    assert batch.keys[0].to_pylist() == ["a", "b", "a"]
    (batch,) = batches(frame["x"])
    assert batch.values[0].tolist() == [1.0, 2.0, 4.0]


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=6),
    st.integers(1, 7),
    st.integers(0, 20),
    st.integers(0, 20),
)
def test_any_chunks_any_range_any_batches(sizes, batch_rows, start, length):
    values = iter(range(100))
    chunks = [[next(values) if i % 3 else None for i in range(size)] for size in sizes]
    table = pa.table(
        {"x": pa.chunked_array(chunks, pa.int64()), "s": pa.array([str(v) for c in chunks for v in c])}
    )
    found = batches(table, start=start, stop=start + length, by=("s",), batch_rows=batch_rows)
    expected = table.slice(start, length)
    values = []
    for batch in found:
        valid = np.ones(batch.n_rows, bool) if batch.valid[0] is None else batch.valid[0]
        values += [v if ok else None for v, ok in zip(batch.values[0].tolist(), valid, strict=True)]
    assert values == expected["x"].to_pylist()
    assert [key for batch in found for key in batch.keys[0].to_pylist()] == expected["s"].to_pylist()
    assert [batch.start for batch in found] == list(
        range(start, min(start + length, table.num_rows), batch_rows)
    )


def test_dictionaries_that_differ_between_chunks():
    chunks = [pa.array(["a", "b"]).dictionary_encode(), pa.array(["c", "a"]).dictionary_encode()]
    table = pa.table({"x": [1.0, 2.0, 3.0, 4.0], "s": pa.chunked_array(chunks)})
    (batch,) = batches(table, by=("s",))
    assert batch.keys[0].to_pylist() == ["a", "b", "c", "a"]


def test_filters_and_names_are_checked_as_for_files():
    source = open_lake({"x": np.arange(5.0), "s": list("abcab")})
    where = as_filter("s in ('a', 'b') and x > 0", source)
    (batch,) = source.reader(ReadOptions(("x",), where=where)).batches(source.files[0])
    assert batch.keep.tolist() == [False, True, False, True, True]
    with pytest.raises(ConfigError, match=r"no column 'y' in the data; there is 'x', 's'"):
        source.reader(ReadOptions(("y",)))
    with pytest.raises(DataError, match="column 's' is string in the data: only numbers, dates, time"):
        source.reader(ReadOptions(("s",)))
    with pytest.raises(ConfigError, match="column 's' is text, not a number"):
        source.reader(ReadOptions(("x",), where=as_filter("s = 1", source)))


def test_nothing_is_changed_in_place():
    array = np.arange(1000.0)
    before = array.copy()
    batches(array, by=("x",), where=as_filter("x > 3", open_lake(array)), batch_rows=64)
    np.testing.assert_array_equal(array, before)


def test_reader_in_memory_is_picklable():
    source = open_lake({"x": np.arange(5.0), "y": pa.array([1, 2, 3, 4, 5])})
    reader = pickle.loads(pickle.dumps(source.reader(ReadOptions(("x", "y")))))
    (batch,) = reader.batches(source.files[0])
    assert batch.values[1].tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert not reader.excludes(source.files[0])


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (3, ConfigError, "cannot read an object of type builtins.int"),
        (None, ConfigError, "cannot read an object of type builtins.NoneType"),
        (np.zeros((2, 2, 2)), DataError, "one or two dimensions, not 3"),
        (np.float64(3), DataError, "one or two dimensions, not 0"),
        (np.array([1 + 2j]), DataError, "an array of complex128 holds neither numbers"),
        (np.zeros((3, 0)), DataError, "the data has no columns"),
        ({}, DataError, "the data has no columns"),
        ([1.0, "a"], DataError, "give values of one type"),
        (np.array([1.0, "a"], object), DataError, "an array of object"),
    ],
)
def test_what_cannot_be_read(data, error, message):
    with pytest.raises(error, match=message) as caught:
        open_lake(data)
    assert "\n" not in str(caught.value)


def test_lists_of_numbers():
    (batch,) = batches([1.0, 2.0, None])
    assert batch.valid[0].tolist() == [True, True, False]
