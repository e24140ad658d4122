"""Arrow scalars built from bytes, since ``pyarrow.scalar`` and ``pyarrow.array`` import pandas."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyarrow import types as patypes


def one_value(value: int | float | str | bool | None, type_: pa.DataType) -> pa.Array:
    """Array of one value: null, boolean, text, or a number as its stored integer or float.

    Parameters
    ----------
    value : int, float, str, bool or None
        For decimals the unscaled integer, for dates and times the count of the type's unit.
    type_ : pyarrow.DataType
    """
    return some_values([value], type_)


def some_values(values: list[int | float | str | bool | None], type_: pa.DataType) -> pa.Array:
    """Array of a few values that are all not null, or all null; see `one_value`."""
    n = len(values)
    given = [value for value in values if value is not None]
    if len(given) < n:
        return pa.nulls(n, type_)
    if patypes.is_string(type_):
        encoded = [str(value).encode() for value in given]
        offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
        return pa.Array.from_buffers(type_, n, [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))])
    if patypes.is_boolean(type_):
        bits = np.packbits(np.array(given, np.bool_), bitorder="little")
        return pa.Array.from_buffers(type_, n, [None, pa.py_buffer(bits.tobytes())])
    if patypes.is_floating(type_):
        data = np.array(given, f"f{type_.bit_width // 8}").tobytes()
    else:
        width = type_.bit_width // 8
        signed = not patypes.is_unsigned_integer(type_)
        data = b"".join(int(value).to_bytes(width, "little", signed=signed) for value in given)
    return pa.Array.from_buffers(type_, n, [None, pa.py_buffer(data)])
