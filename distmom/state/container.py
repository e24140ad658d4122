"""Saved states as bytes: named plain arrays and facts, with a digest that detects any damage.

A container consists of a line that names it, a JSON header (facts; names, types and shapes of arrays), the
arrays one after the other as in memory, and 32 bytes of BLAKE2b over everything before. Nothing in it is ever
executed, and a file that was cut or altered at any byte is refused. The digest is not a signature: an
attacker can write a valid container, but can only cause wrong numbers or an error.

The meaning of the arrays is up to the writer; this module knows only their names, types and shapes.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from distmom.errors import DataError

SCHEMA_VERSION = 2
DIGEST_BYTES = 32
_MAGIC = b"distmom state\n"
_TYPES = {"bool", "float32", "float64"} | {f"{u}int{bits}" for u in ("", "u") for bits in (8, 16, 32, 64)}
_LENGTHS = np.dtype("<i8")

Plain = NDArray[Any] | Sequence[bytes]


@dataclass(frozen=True)
class Container:
    """The saved content.

    Attributes
    ----------
    kind : str
        Kind of job, such as ``"mean"``.
    facts : dict
        Any JSON values, by name.
    arrays : mapping of str to ndarray or sequence of bytes
        Arrays of any shape with booleans, integers or floats; or lists of byte strings.
    """

    kind: str
    facts: dict[str, Any]
    arrays: Mapping[str, Plain]


def write_container(container: Container, sink: BinaryIO) -> None:
    """Write the bytes of a container, one array at a time."""
    digest = _digest()
    for piece in _pieces(container):
        digest.update(piece)
        sink.write(piece)
    sink.write(digest.digest())


def read_container(data: bytes, what: str) -> Container:
    """Read a container from its bytes; the arrays are copies.

    DataError if bytes are missing, added or altered, or if it was not written by `write_container` of this
    version.

    Parameters
    ----------
    what : str
        Its name in messages.
    """
    if not data.startswith(_MAGIC):
        raise DataError(f"{what} is not a saved state, or is damaged; name another file, or delete it")
    body, digest = memoryview(data)[:-DIGEST_BYTES], data[-DIGEST_BYTES:]
    if _digest(body).digest() != digest:
        raise DataError(
            f"{what} is damaged or cut short (its digest does not match); delete it to start afresh, "
            "or put a copy in its place"
        )
    try:
        after = data.index(b"\n", len(_MAGIC)) + 1
        return _parse(json.loads(data[len(_MAGIC) : after]), _Rest(body[after:]))
    except Exception as error:  # undamaged, but not written by us: it may contain anything
        reason = str(error).partition("\n")[0]
        raise DataError(
            f"{what} cannot be read by this version of distmom ({reason}); delete it to start afresh"
        ) from error


def _digest(data: bytes | memoryview = b"") -> hashlib.blake2b:
    return hashlib.blake2b(data, digest_size=DIGEST_BYTES, person=b"distmom state")


def _pieces(container: Container) -> Iterator[bytes | memoryview]:
    arrays = [[name, *_type_of(values)] for name, values in container.arrays.items()]
    head = {"kind": container.kind, "facts": container.facts, "arrays": arrays}
    text = json.dumps({"schema_version": SCHEMA_VERSION, **head}, allow_nan=False).encode("ascii")
    yield _MAGIC
    yield text + b"\n"  # JSON on one line
    for values in container.arrays.values():
        if isinstance(values, np.ndarray):
            little = np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
            yield little.reshape(-1).view(np.uint8).data
        else:
            yield np.array([len(value) for value in values], _LENGTHS).tobytes()
            yield b"".join(values)


def _type_of(values: Plain) -> tuple[str, list[int]]:
    if not isinstance(values, np.ndarray):
        return "bytes", [len(values)]
    if values.dtype.name not in _TYPES:
        raise TypeError(f"arrays of {values.dtype} cannot be saved")
    return values.dtype.name, list(values.shape)


class _Rest:
    """The bytes that have not been read yet."""

    def __init__(self, data: memoryview) -> None:
        self.data = data

    def take(self, n: int) -> memoryview:
        if n > len(self.data):
            raise ValueError("an array exceeds the file")
        taken, self.data = self.data[:n], self.data[n:]
        return taken

    def array(self, dtype: np.dtype[Any], shape: list[int]) -> NDArray[Any]:
        flat = np.frombuffer(self.take(math.prod(shape) * dtype.itemsize), dtype)
        return flat.reshape(shape).astype(dtype.newbyteorder("="))


def _parse(head: Any, rest: _Rest) -> Container:
    if not isinstance(head, dict) or head["schema_version"] != SCHEMA_VERSION:
        raise ValueError(
            f"its schema is version {head['schema_version']}, here version {SCHEMA_VERSION} is known"
        )
    if not isinstance(head["kind"], str) or not isinstance(head["facts"], dict):
        raise ValueError("its head is malformed")
    arrays = {name: _plain(rest, name, dtype, shape) for name, dtype, shape in head["arrays"]}
    if len(rest.data) or len(arrays) != len(head["arrays"]):
        raise ValueError("it holds other arrays than its head says")
    return Container(head["kind"], head["facts"], arrays)


def _plain(rest: _Rest, name: Any, dtype: Any, shape: Any) -> Plain:
    known = isinstance(name, str) and (dtype == "bytes" or dtype in _TYPES)
    sizes = isinstance(shape, list) and all(type(n) is int and n >= 0 for n in shape) and len(shape) <= 8
    if not known or not sizes:
        raise ValueError(f"the type or shape of {name!r} is malformed")
    if dtype == "bytes":
        lengths = rest.array(_LENGTHS, shape)
        if lengths.ndim != 1 or (lengths < 0).any():
            raise ValueError(f"{name!r} is not a plain list")
        edges = [0, *accumulate(lengths.tolist())]
        whole = bytes(rest.take(edges[-1]))
        return tuple(whole[a:b] for a, b in pairwise(edges))
    if dtype == "bool":
        values = rest.array(np.dtype(np.uint8), shape)
        if values.size and values.max() > 1:
            raise ValueError(f"{name!r} holds other values than true and false")
        return values.astype(np.bool_)
    return rest.array(np.dtype(dtype).newbyteorder("<"), shape)
