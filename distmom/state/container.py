"""Saved states as bytes: named plain arrays and facts, with a digest that tells every damage.

A container is an Arrow IPC stream of one row, each array a list in a column of its own, followed by 32 bytes
of BLAKE2b over all that precedes. So any Arrow reader can look into it, nothing of it is ever executed, and a
file that was cut or altered at any byte is refused. The digest is no signature: who wants to deceive can
write a container of his own, but all he can get is wrong numbers or an error.

What the arrays mean is for the writer to know; here are only their names, types and shapes.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, BinaryIO, NoReturn

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from distmom.errors import DataError

SCHEMA_VERSION = 2
DIGEST_BYTES = 32
_PERSON = b"distmom state"
_STREAM = b"\xff\xff\xff\xff"  # how an IPC stream begins
_HEAD = b"distmom"  # key of the schema's metadata
_TYPES = {
    np.dtype(name): pa.from_numpy_dtype(np.dtype("uint8" if name == "bool" else name))
    for name in ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
} | {np.dtype(name): pa.from_numpy_dtype(np.dtype(name)) for name in ("float32", "float64")}
_TEXTS = pa.large_binary()

Plain = NDArray[Any] | Sequence[bytes]


@dataclass(frozen=True)
class Container:
    """What is saved.

    Attributes
    ----------
    kind : str
        Whose it is, such as ``"mean"``.
    facts : dict
        Whatever JSON can carry, by name.
    arrays : mapping of str to ndarray or sequence of bytes
        Arrays of any shape, of booleans, integers or floats; or lists of byte strings.
    """

    kind: str
    facts: dict[str, Any]
    arrays: Mapping[str, Plain]


def write_container(container: Container, sink: BinaryIO) -> None:
    """Write the bytes of a container, a buffer at a time."""
    hashed = _Hashed(sink)
    columns = [_column(values) for values in container.arrays.values()]
    fields = [
        pa.field(name, column.type, nullable=False, metadata=_kind_of(values))
        for (name, values), column in zip(container.arrays.items(), columns, strict=True)
    ]
    head = {"schema_version": SCHEMA_VERSION, "kind": container.kind, "facts": container.facts}
    schema = pa.schema(fields, {_HEAD: json.dumps(head, allow_nan=False).encode("ascii")})
    with pa.ipc.new_stream(pa.PythonFile(hashed, "w"), schema) as stream:
        stream.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))
    sink.write(hashed.digest.digest())


def read_container(data: bytes, what: str) -> Container:
    """A container from its bytes; the arrays are copies.

    Parameters
    ----------
    data : bytes
    what : str
        What messages call it.

    Raises
    ------
    DataError
        If a byte is missing, added or altered, or if it was not written by `write_container` of this version.
    """
    if not data.startswith(_STREAM):
        raise DataError(f"{what} is no saved state, or is damaged; name another file, or delete it")
    body, digest = memoryview(data)[:-DIGEST_BYTES], data[-DIGEST_BYTES:]
    if _digest(body).digest() != digest:
        raise DataError(
            f"{what} is damaged or cut short (its digest does not match); delete it to start afresh, "
            "or put a copy in its place"
        )
    try:
        return _parse(body)
    except Exception as error:  # whole, but not of our making: it may hold anything
        reason = str(error).partition("\n")[0]
        raise DataError(
            f"{what} cannot be read by this version of distmom ({reason}); delete it to start afresh"
        ) from error


def _parse(body: memoryview) -> Container:
    buffer = pa.py_buffer(body)
    stream = pa.ipc.open_stream(buffer)
    schema = stream.schema
    head = json.loads((schema.metadata or {})[_HEAD])
    if not isinstance(head, dict) or head["schema_version"] != SCHEMA_VERSION:
        _refuse(f"its schema is version {head['schema_version']}, here version {SCHEMA_VERSION} is known")
    if not isinstance(head["kind"], str) or not isinstance(head["facts"], dict):
        _refuse("its head is malformed")
    shapes = [_shape_of(field, len(body)) for field in schema]
    _refuse_compression(buffer)
    batch = stream.read_next_batch()
    batch.validate(full=True)
    if next(stream, None) is not None or (len(schema) and batch.num_rows != 1):
        _refuse("it holds another number of rows than one")
    columns = zip(schema, batch.columns, shapes, strict=True)
    return Container(head["kind"], head["facts"], {f.name: _plain(f, c, shape) for f, c, shape in columns})


def _refuse(reason: str) -> NoReturn:
    raise ValueError(reason)


class _Hashed:
    """A sink that hashes what goes through it."""

    def __init__(self, sink: BinaryIO) -> None:
        self._sink = sink
        self.digest = _digest(b"")
        self.closed = False

    def write(self, data: Any) -> int:
        self.digest.update(data)
        self._sink.write(data)
        return len(data)

    def flush(self) -> None: ...

    def close(self) -> None:
        self.closed = True


def _digest(data: bytes | memoryview) -> hashlib.blake2b:
    return hashlib.blake2b(data, digest_size=DIGEST_BYTES, person=_PERSON)


def _kind_of(values: Plain) -> dict[bytes, bytes]:
    if isinstance(values, np.ndarray):
        return {b"dtype": values.dtype.name.encode(), b"shape": json.dumps(values.shape).encode()}
    return {b"dtype": b"bytes", b"shape": json.dumps([len(values)]).encode()}


def _column(values: Plain) -> pa.Array:
    """A list of one row that holds all values."""
    if isinstance(values, np.ndarray):
        flat = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
        inner = pa.Array.from_buffers(_TYPES[values.dtype], values.size, [None, pa.py_buffer(flat)])
    else:
        offsets = np.zeros(len(values) + 1, np.int64)
        np.cumsum([len(v) for v in values], out=offsets[1:])
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(values))]
        inner = pa.Array.from_buffers(_TEXTS, len(values), buffers)
    ends = pa.py_buffer(np.array([0, len(inner)], np.int64))
    return pa.Array.from_buffers(pa.large_list(inner.type), 1, [None, ends], children=[inner])


def _shape_of(field: pa.Field, most_bytes: int) -> tuple[int, ...]:
    """Shape of an array, once its type and size are known to be possible."""
    shape = json.loads((field.metadata or {})[b"shape"])
    if not isinstance(shape, list) or not all(type(n) is int and n >= 0 for n in shape) or len(shape) > 8:
        _refuse(f"the shape of {field.name!r} is malformed")
    name = field.metadata[b"dtype"].decode("ascii", "replace")
    inner = _TEXTS if name == "bytes" else _TYPES.get(np.dtype(name))
    if inner is None or field.type != pa.large_list(inner):
        _refuse(f"{field.name!r} is {field.type}, which does not go with {name}")
    width = 8 if name == "bytes" else np.dtype(name).itemsize
    if math.prod(shape) * width > most_bytes:
        _refuse(f"the shape of {field.name!r} exceeds the file")
    return tuple(shape)


def _plain(field: pa.Field, column: pa.Array, shape: tuple[int, ...]) -> Plain:
    inner = column.values
    first, last = np.frombuffer(column.buffers()[1], np.int64, 2, column.offset * 8).tolist()
    if column.null_count or inner.null_count or (first, last) != (0, len(inner)) or inner.offset:
        _refuse(f"{field.name!r} is no plain list")
    if len(inner) != math.prod(shape):
        _refuse(f"{field.name!r} has {len(inner)} values, not those of its shape")
    if inner.type == _TEXTS:
        _, ends, data = inner.buffers()
        if data is None or len(inner) == 0:
            return (b"",) * len(inner)
        edges = np.frombuffer(ends, np.int64, len(inner) + 1).tolist()
        whole = memoryview(data)
        return tuple(bytes(whole[a:b]) for a, b in pairwise(edges))
    dtype = np.dtype(field.metadata[b"dtype"].decode("ascii"))
    data = inner.buffers()[1]
    if data is None or len(inner) == 0:
        return np.zeros(shape, dtype)
    if dtype == np.bool_ and np.frombuffer(data, np.uint8, len(inner)).max() > 1:
        _refuse(f"{field.name!r} holds other values than true and false")
    return np.frombuffer(data, dtype, len(inner)).reshape(shape).copy()


def _refuse_compression(buffer: pa.Buffer) -> None:
    """Look for a codec in the first record batch: a compressed buffer could claim any size.

    Arrow verifies a message before it hands it out, but does not tell its codec. So the flat buffer is read
    here: `header` is the third field of Message, `compression` the fourth of RecordBatch.
    """
    messages = pa.ipc.MessageReader.open_stream(buffer)
    try:
        messages.read_next_message()
        message = messages.read_next_message()
    except StopIteration:
        _refuse("it holds another number of rows than one")
    if message.type != "record batch":
        _refuse("it holds other messages than a schema and a row")
    data = message.metadata.to_pybytes()

    def number(form: str, at: int) -> int:
        return int(struct.unpack_from(form, data, at)[0])

    def field(table: int, slot: int) -> int:
        fields = table - number("<i", table)
        place = 4 + 2 * slot
        there = number("<H", fields + place) if place < number("<H", fields) else 0
        return table + there if there else 0

    header = field(number("<I", 0), 2)
    if field(header + number("<I", header), 3):
        _refuse("it is compressed")
