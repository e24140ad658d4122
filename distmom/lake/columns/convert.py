"""Arrow arrays as float64 NumPy arrays, without pandas.

``Array.to_numpy``, ``pyarrow.array`` and their like import pandas where it is installed, which costs 0.3 s
and, in a worker's thread, has taken an import lock for good. So buffers are read and written as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import types as patypes

from distmom.numerics.arrays import Bools, Floats, Ints

if TYPE_CHECKING:
    from distmom.lake.columns.times import TimeScale

Values = Floats
Valid = Bools | None
Converter = Callable[[pa.Array], tuple[Values, Valid]]

_NUMPY_TYPES: dict[pa.DataType, np.dtype[np.generic]] = {
    pa.int8(): np.dtype("int8"),
    pa.int16(): np.dtype("int16"),
    pa.int32(): np.dtype("int32"),
    pa.int64(): np.dtype("int64"),
    pa.uint8(): np.dtype("uint8"),
    pa.uint16(): np.dtype("uint16"),
    pa.uint32(): np.dtype("uint32"),
    pa.uint64(): np.dtype("uint64"),
    pa.float16(): np.dtype("float16"),
    pa.float32(): np.dtype("float32"),
    pa.float64(): np.dtype("float64"),
}

_EXACT_SCALE = 22  # 10**22 is the largest power of ten that a float64 holds exactly
_EXACT_INTEGER = 2**53
_DECIMALS = {32: pa.decimal32, 64: pa.decimal64, 128: pa.decimal128, 256: pa.decimal256}


def to_float64(array: pa.Array) -> tuple[Values, Valid]:
    """Values of a numeric array, rounded once to float64, and which of them are not null.

    TypeError if the array's type is none of these.

    Parameters
    ----------
    array : pyarrow.Array
        Integers, floats, decimals, booleans (as 0 and 1), nulls, or a dictionary of those.

    Returns
    -------
    values : (n,) float64
        A view of Arrow's memory for float64, else a new array; read-only. Anything at null positions.
    valid : (n,) bool, or None
        None where nothing is null. NaN is not null.

    Examples
    --------
    >>> to_float64(pa.array([1, None, 3], pa.int16()))[1]
    array([ True, False,  True])
    """
    return converter(array.type)(array)


def converter(type_: pa.DataType, scale: TimeScale | None = None) -> Converter:
    """The function that turns arrays of one type into values: chosen once a file, called for each batch.

    TypeError if the type holds no numbers.

    Parameters
    ----------
    scale : TimeScale, optional
        For a type of dates, timestamps or durations.
    """
    if type_ in _NUMPY_TYPES:
        return _plain_values
    if patypes.is_dictionary(type_):
        inner = converter(type_.value_type, scale)  # a dictionary of texts is refused here, not in a batch
        return partial(_dictionary_values, inner)
    if scale is not None and not patypes.is_null(type_):
        return lambda array: (scale.offsets(array), valid_rows(array))
    if patypes.is_boolean(type_):
        return lambda array: (bit_values(array).astype(np.float64), valid_rows(array))
    if patypes.is_null(type_):
        return lambda array: (np.zeros(len(array)), valid_rows(array))
    if patypes.is_decimal(type_):
        return lambda array: (_decimal_values(array), valid_rows(array))
    raise TypeError(f"{type_} holds no numbers")


def _plain_values(array: pa.Array) -> tuple[Values, Valid]:
    values: Any = native_values(array)
    if values.dtype != np.float64 or not values.flags.aligned:
        values = values.astype(np.float64)
    values.flags.writeable = False  # of some arrays it is not: one kind spares a second compiled kernel
    return values, valid_rows(array)


def native_values(array: pa.Array) -> NDArray[np.generic]:
    """View of the values of an array of integers or floats, in their own type; anything at null positions."""
    kind = _NUMPY_TYPES[array.type]
    data = array.buffers()[1]
    if len(array) == 0 or data is None:
        return np.zeros(len(array), kind)
    return np.frombuffer(data, kind, len(array), array.offset * kind.itemsize)


def valid_rows(array: pa.Array) -> Valid:
    """Which rows are not null; None where none is.

    A dictionary's own nulls are not seen here, only those of its indices.
    """
    if array.null_count == 0:
        return None
    return np.zeros(len(array), np.bool_) if patypes.is_null(array.type) else _bits(array, 0)


def bit_values(array: pa.BooleanArray) -> Bools:
    """Values of a boolean array; anything at null positions."""
    return _bits(array, 1)


def _bits(array: pa.Array, buffer: int) -> Bools:
    """Unpack one of an array's bitmaps, its validity (0) or its boolean values (1)."""
    bitmap = array.buffers()[buffer]
    if len(array) == 0 or bitmap is None:
        return np.zeros(len(array), np.bool_)
    first, skip = divmod(array.offset, 8)
    packed = np.frombuffer(bitmap, np.uint8, (skip + len(array) + 7) // 8, first)
    return np.unpackbits(packed, count=skip + len(array), bitorder="little")[skip:].view(np.bool_)


def _dictionary_values(inner: Converter, array: pa.DictionaryArray) -> tuple[Values, Valid]:
    valid = valid_rows(array)
    values, value_valid = inner(array.dictionary)
    indices: NDArray[np.integer] = native_values(array.indices)  # type: ignore[assignment]
    if valid is not None:
        indices = np.where(valid, indices, 0)  # an index may be anything where it is null
    if values.size == 0:
        return np.zeros(len(array)), valid
    if value_valid is not None:
        found = value_valid.take(indices)
        valid = found if valid is None else valid & found
    return values.take(indices), None if valid is not None and valid.all() else valid


def _decimal_values(array: pa.Array) -> Values:
    """Correctly rounded values of decimals.

    The quotient of an integer below 2**53 and a power of ten up to 10**22 is rounded once, hence correct
    (Clinger 1990). Other values take the longer way over their decimal text, since Arrow's own cast is off
    by one unit in the last place in some of them.
    """
    type_, valid = array.type, valid_rows(array)
    if 0 <= type_.scale <= _EXACT_SCALE:
        unscaled = _DECIMALS[type_.bit_width](type_.precision, 0)
        with suppress(pa.ArrowInvalid):  # beyond int64
            whole = pa.Array.from_buffers(unscaled, len(array), array.buffers(), offset=array.offset)
            values: Ints = native_values(whole.cast(pa.int64()))  # type: ignore[assignment]
            small = (values < _EXACT_INTEGER) & (values > -_EXACT_INTEGER)
            if (small if valid is None else small | ~valid).all():
                return values.astype(np.float64) / float(10**type_.scale)
    return to_float64(array.cast(pa.string()).cast(pa.float64()))[0]


def encodable(array: pa.Array) -> pa.Array:
    """The array, in a type that Arrow makes dictionaries of: decimals of 32 and 64 bits are none."""
    if patypes.is_decimal(array.type) and array.type.bit_width < 128:
        return array.cast(pa.decimal128(array.type.precision, array.type.scale))
    return array


def int64_array(values: Ints) -> pa.Array:
    """Array in the memory of contiguous integers."""
    return pa.Array.from_buffers(pa.int64(), values.size, [None, pa.py_buffer(values)])


def float64_array(values: Values, valid: Valid) -> pa.Array:
    """Array in the memory of contiguous floats, null where they are not `valid`."""
    return pa.Array.from_buffers(pa.float64(), values.size, [_bitmap(valid), pa.py_buffer(values)])


def boolean_array(values: Bools, valid: Valid) -> pa.Array:
    """Array of booleans, null where they are not `valid`."""
    return pa.Array.from_buffers(pa.bool_(), values.size, [_bitmap(valid), _bitmap(values)])


def _bitmap(values: Valid) -> pa.Buffer | None:
    return None if values is None else pa.py_buffer(np.packbits(values, bitorder="little").tobytes())


def one_value(value: int | float | str | bool | None, type_: pa.DataType) -> pa.Array:
    """Array of one value: null, boolean, text, or a number as its stored integer or float.

    Parameters
    ----------
    value : int, float, str, bool or None
        For decimals the unscaled integer, for dates and times the count of the type's unit.
    """
    return some_values([value], type_)


def some_values(values: list[int | float | str | bool | None], type_: pa.DataType) -> pa.Array:
    """Array of a few values that are all not null, or all null; see `one_value`."""
    n = len(values)
    given = [value for value in values if value is not None]
    if len(given) < n:
        return pa.nulls(n, type_)
    if patypes.is_string(type_) or patypes.is_large_string(type_):
        encoded = [str(value).encode() for value in given]
        offsets = np.cumsum([0, *map(len, encoded)], dtype=f"i{4 if patypes.is_string(type_) else 8}")
        return pa.Array.from_buffers(type_, n, [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))])
    if patypes.is_boolean(type_):
        return boolean_array(np.array(given, np.bool_), None)
    if patypes.is_floating(type_):
        data = np.array(given, f"f{type_.bit_width // 8}").tobytes()
    else:
        width = type_.bit_width // 8
        signed = not patypes.is_unsigned_integer(type_)
        data = b"".join(int(value).to_bytes(width, "little", signed=signed) for value in given)
    return pa.Array.from_buffers(type_, n, [None, pa.py_buffer(data)])
