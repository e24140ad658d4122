"""Keys as bytes, for hashing: the same value gives the same bytes from any file, type and width.

The bytes of a component of a key (see `keyvalues`) are a letter and

- nothing for null (``0``) and NaN (``n``);
- 8 bytes of a number: of an integer within int64 (``i``), else of a float64 if it is exactly one (``f``);
  else its decimal digits and exponent (``d``);
- one byte for true or false (``b``), the UTF-8 of a text (``s``), the bytes themselves (``y``);
- the letter of its kind and then a number, as above, for a date, time or duration.

Numbers and texts, which are most keys, are turned into bytes as whole arrays; everything else one by one.
"""

from __future__ import annotations

import math
import struct
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import types as patypes

from distmom.lake.columns.convert import native_values, one_value
from distmom.lake.keys.keyvalues import NAN, NULL, Component, Key, components
from distmom.numerics.arrays import Floats, Ints

_CLOCKS = {"date": b"D", "timestamp": b"T", "zoned": b"Z", "time": b"C", "duration": b"P"}
_INT64 = 2**63


class Messages(NamedTuple):
    """Bytes of many keys: those of key i are ``data[edges[i] : edges[i + 1]]``."""

    data: NDArray[np.uint8]
    edges: Ints

    @classmethod
    def of(cls, parts: list[bytes]) -> Messages:
        """Keys given one by one."""
        edges = np.zeros(len(parts) + 1, np.int64)
        np.cumsum([len(part) for part in parts], out=edges[1:])
        return cls(np.frombuffer(b"".join(parts), np.uint8), edges)


def component_bytes(component: Component) -> bytes:
    """Bytes of one component of a key."""
    rank = component[0]
    if component in (NULL, NAN):
        return b"0" if rank == 0 else b"n"
    value: Any = component[1]
    if rank == 1:
        return _number_bytes(value)
    if rank == 3:
        return b"b\x01" if value else b"b\x00"
    if rank == 4:
        return b"s" + str(value).encode("utf-8", "surrogatepass")
    if rank == 5:
        return b"y" + bytes(value)
    kind, count = value
    return _CLOCKS[kind] + _number_bytes(count)


def whole_key_bytes(key: Key) -> bytes:
    """Bytes of a key, which equal keys have in common, and no others."""
    parts = map(component_bytes, key)
    return b"".join(len(part).to_bytes(8, "little") + part for part in parts)


def _number_bytes(value: Any) -> bytes:
    if isinstance(value, float) and math.isinf(value):
        return b"f" + struct.pack("<d", value)
    whole = int(value)
    if whole == value and -_INT64 <= whole < _INT64:
        return b"i" + whole.to_bytes(8, "little", signed=True)
    try:
        near = float(value)
    except OverflowError:
        near = 0.0
    if near == value:  # Python compares integers and decimals with floats exactly
        return b"f" + struct.pack("<d", near)
    sign, digits, exponent = Decimal(value).as_tuple()
    text = "".join(map(str, digits))
    short = text.rstrip("0")
    return f"d{'-' * sign}{short.lstrip('0')}e{int(exponent) + len(text) - len(short)}".encode()


def key_bytes(array: pa.Array) -> Messages:
    """Bytes of the values of an array that is not a dictionary; anything, but not none, where it is null.

    DataError if values of its type cannot be keys.
    """
    found = None
    if patypes.is_integer(array.type):
        found = _integers(native_values(array))
    elif patypes.is_floating(array.type):
        found = _floats(native_values(array).astype(np.float64))
    elif len(array) and (patypes.is_string(array.type) or patypes.is_large_string(array.type)):
        found = _texts(array)
    if found is not None:
        return found
    return Messages.of([component_bytes(component) for component in components(array)])


def _integers(values: NDArray[np.generic]) -> Messages | None:
    """Integers within int64."""
    if values.dtype == np.uint64 and values.size and int(values.max()) >= _INT64:
        return None
    return _lettered("i", values.astype("<i8"))


def _floats(values: Floats) -> Messages | None:
    """Numbers without NaN."""
    if np.isnan(values).any():
        return None
    whole = (np.trunc(values) == values) & (values >= -float(_INT64)) & (values < float(_INT64))
    integers = np.where(whole, values, 0.0).astype("<i8").view("<f8")  # their bits
    letters = np.where(whole, ord("i"), ord("f")).astype(np.uint8)
    return _lettered(letters, np.where(whole, integers, values.astype("<f8")))


def _lettered(letters: str | NDArray[np.uint8], values: NDArray[np.generic]) -> Messages:
    """A letter and 8 bytes for each value."""
    out = np.empty((values.size, 9), np.uint8)
    out[:, 0] = ord(letters) if isinstance(letters, str) else letters
    out[:, 1:] = values.view(np.uint8).reshape(-1, 8)
    return Messages(out.reshape(-1), np.arange(values.size + 1, dtype=np.int64) * 9)


def _texts(array: pa.Array) -> Messages | None:
    """Texts in UTF-8, each behind its letter."""
    import pyarrow.compute as pc

    try:
        array.validate(full=True)
    except pa.ArrowInvalid:  # writers do not check; the slow way keeps bad texts apart
        return None
    letter, nothing = (one_value(text, pa.large_string())[0] for text in ("s", ""))
    options = pc.JoinOptions(null_handling="replace", null_replacement="")
    parts = [letter, array.cast(pa.large_string()), nothing]
    _, offsets, data = pc.call_function("binary_join_element_wise", parts, options).buffers()
    edges = np.frombuffer(offsets, np.int64, len(array) + 1)
    return Messages(np.frombuffer(data, np.uint8, edges[-1]), edges)
