"""Columns of objects in memory: NumPy arrays, Arrow arrays and tables, and frames that export Arrow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from distmom.errors import ConfigError, DataError
from distmom.lake.messages import first_line
from distmom.numerics.arrays import Bools

_TIME_UNITS = ("s", "ms", "us", "ns")
_COARSE = (("D", 1), ("h", 1), ("m", 1))


@dataclass(frozen=True)
class NumpyColumn:
    """A one-dimensional NumPy array of numbers, booleans or times; where ``missing`` is true it is null."""

    array: NDArray[Any]
    type: pa.DataType
    missing: Bools | None = None

    def __len__(self) -> int:
        return len(self.array)

    def slice(self, start: int, stop: int) -> pa.Array:
        """Rows ``[start, stop)`` in the array's own memory, if they lie there one after the other."""
        rows = self.array[start:stop]
        missing = None if self.missing is None else self.missing[start:stop]
        if rows.dtype.kind in "mM":
            missing = np.isnat(rows) if missing is None else missing | np.isnat(rows)
        if missing is None or not missing.any():
            bitmap = None
        else:
            bitmap = pa.py_buffer(np.packbits(~missing, bitorder="little").tobytes())
        if rows.dtype.kind == "b":
            data = np.packbits(rows, bitorder="little")
        else:
            data = np.ascontiguousarray(rows, rows.dtype.newbyteorder("=")).view(f"V{rows.dtype.itemsize}")
        return pa.Array.from_buffers(self.type, len(rows), [bitmap, pa.py_buffer(data)])


MemoryColumn: TypeAlias = NumpyColumn | pa.ChunkedArray


def arrow_rows(column: MemoryColumn, start: int, stop: int) -> pa.Array:
    """Rows ``[start, stop)`` of a column; a range within one chunk is not copied."""
    if isinstance(column, NumpyColumn):
        return column.slice(start, stop)
    part = column.slice(start, stop - start)
    if part.num_chunks == 1:
        return part.chunk(0)
    if isinstance(part.type, pa.DictionaryType):
        part = part.unify_dictionaries()
    return pa.concat_arrays(part.chunks) if part.num_chunks else pa.nulls(0, part.type)


def columns_of(data: Any) -> list[tuple[str, MemoryColumn]]:
    """Names and columns of an object.

    A one-dimensional array is the column ``"x"``; the columns of a two-dimensional one are ``"0"``,
    ``"1"``, …; those of a structured array have its fields' names.

    ConfigError if the object is of no kind that is read.
    """
    if isinstance(data, np.ndarray):
        return _numpy_columns(data)
    if isinstance(data, pa.Table):
        return list(zip(data.column_names, data.columns, strict=True))
    if isinstance(data, pa.RecordBatch):
        return columns_of(pa.Table.from_batches([data]))
    if isinstance(data, pa.ChunkedArray):
        return [("x", data)]
    if isinstance(data, pa.Array):
        return [("x", pa.chunked_array([data]))]
    if isinstance(data, Mapping):
        return [(_name(name), _one_column(values, f"column {name!r}")) for name, values in data.items()]
    if isinstance(data, (list, tuple)):
        return [("x", _one_column(data, "data"))]
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
        return _imported(data)
    if hasattr(data, "__array__"):
        return _numpy_columns(np.asanyarray(data))
    raise refuse(data)


def _name(name: object) -> str:
    if not isinstance(name, str):
        raise ConfigError(f"data: names of columns must be texts, not {name!r}")
    return name


def _imported(data: Any) -> list[tuple[str, MemoryColumn]]:
    """Columns of an object that exports Arrow memory: a frame, or a series of one column."""
    try:
        if hasattr(data, "__arrow_c_stream__"):
            try:
                return columns_of(pa.RecordBatchReader.from_stream(data).read_all())
            except (pa.ArrowException, TypeError):  # no stream of batches, but perhaps one of arrays
                return [("x", pa.chunked_array(data))]
        array = pa.array(data)
    except (pa.ArrowException, TypeError, ValueError, NotImplementedError) as error:
        raise ConfigError(f"data: cannot import it through Arrow: {first_line(error)}") from error
    if isinstance(array, pa.StructArray):
        return columns_of(pa.RecordBatch.from_struct_array(array))
    return columns_of(array)


def _one_column(values: Any, what: str) -> MemoryColumn:
    if isinstance(values, (pa.Array, pa.ChunkedArray)) or (
        not isinstance(values, np.ndarray)
        and (hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__"))
    ):
        columns = columns_of(values)
    elif isinstance(values, (list, tuple)):
        try:
            columns = columns_of(pa.array(values))
        except OverflowError as error:
            raise DataError(
                f"{what}: holds integers beyond 64 bits; give them as floats or decimals"
            ) from error
        except (pa.ArrowException, TypeError) as error:
            raise DataError(f"{what}: {first_line(error)}; give values of one type") from error
    elif hasattr(values, "__array__"):
        columns = _numpy_columns(np.asanyarray(values))
    else:
        raise refuse(values)
    if len(columns) != 1:
        raise DataError(f"{what} has {len(columns)} columns; a column must be one-dimensional")
    return columns[0][1]


def _numpy_columns(array: NDArray[Any]) -> list[tuple[str, MemoryColumn]]:
    mask: Any = np.ma.getmaskarray(array) if isinstance(array, np.ma.MaskedArray) else None
    plain = np.ma.getdata(array) if mask is not None else np.asarray(array)
    if plain.dtype.names is not None:
        if plain.ndim != 1:
            raise DataError(f"data: a structured array must have one dimension, not {plain.ndim}")
        return [
            (name, _numpy_column(plain[name], None if mask is None else mask[name]))
            for name in plain.dtype.names
        ]
    if plain.ndim == 1:
        return [("x", _numpy_column(plain, mask))]
    if plain.ndim == 2:
        return [
            (str(j), _numpy_column(plain[:, j], None if mask is None else mask[:, j]))
            for j in range(plain.shape[1])
        ]
    raise DataError(f"data: an array must have one or two dimensions, not {plain.ndim}")


def _numpy_column(array: NDArray[Any], missing: Bools | None) -> MemoryColumn:
    if array.ndim != 1:
        raise DataError(f"data: a column must have one dimension, not {array.ndim}")
    if array.dtype.kind in "mM" and np.datetime_data(array.dtype) in _COARSE:
        return _coarse_times(array, missing)
    type_ = _arrow_type(array.dtype)
    if type_ is not None:
        return NumpyColumn(array, type_, missing)
    if array.dtype.kind in "OUST" or array.dtype.kind in "fmM":
        try:
            return pa.chunked_array([_through_arrow(array, missing)])
        except (pa.ArrowException, TypeError, OverflowError) as error:
            raise DataError(f"data: an array of {array.dtype}: {first_line(error)}") from error
    raise DataError(f"data: an array of {array.dtype} holds neither numbers, texts nor times")


def _coarse_times(array: NDArray[Any], missing: Bools | None) -> MemoryColumn:
    """Days as dates, other units that Arrow does not have as seconds."""
    nat = np.isnat(array)
    missing = nat if missing is None else missing | nat
    dates = array.dtype.str[1:] == "M8[D]"
    limit = np.iinfo(np.int32).max if dates else np.iinfo(np.int64).max // 86_400
    if (np.abs(array.astype(np.int64)[~nat]) > limit).any():
        raise DataError(f"data: an array of {array.dtype} holds times beyond the range of Arrow's; drop them")
    if dates:
        return NumpyColumn(array.astype(np.int64).astype(np.int32), pa.date32(), missing)
    return _numpy_column(array.astype(f"{array.dtype.kind}8[s]"), missing)


def _through_arrow(array: NDArray[Any], missing: Bools | None) -> pa.Array:
    """Texts and Python objects, converted one by one; None is null, NaN stays NaN."""
    if array.dtype.kind == "f":  # long double
        return pa.array(array.astype(np.float64), mask=missing)
    if array.dtype.kind == "T":
        array = array.astype(object)
    if array.dtype.kind in "mM":
        raise TypeError("give times in seconds, milliseconds, microseconds or nanoseconds, dates in days")
    return pa.array(array, mask=missing, from_pandas=False)


def _arrow_type(dtype: np.dtype[Any]) -> pa.DataType | None:
    """Arrow type with the same memory; None where there is none."""
    if dtype.kind == "b":
        return pa.bool_()
    if dtype.kind in "iu" or (dtype.kind == "f" and dtype.itemsize <= 8):
        return pa.from_numpy_dtype(dtype.newbyteorder("="))
    if dtype.kind in "mM":
        unit, step = np.datetime_data(dtype)
        if step == 1 and unit in _TIME_UNITS:
            return pa.timestamp(unit) if dtype.kind == "M" else pa.duration(unit)
    return None


def refuse(data: object) -> ConfigError:
    """The error for an object of no kind that is read."""
    kind = f"{type(data).__module__}.{type(data).__name__}"
    return ConfigError(
        f"data: cannot read an object of type {kind}; give a path, a list of paths, an Arrow table, a NumPy "
        "array, a dict of columns, or a frame with the Arrow PyCapsule interface"
    )
