"""Hashes of the rows of Arrow batches, by their values: whatever the type, the chunks or the dictionaries."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from pyarrow import types as patypes

from distmom.errors import DataError
from distmom.lake.columns.convert import bit_values, valid_rows
from distmom.numerics.arrays import Ints, Words
from distmom.numerics.random.keyed_hash import hash_messages
from distmom.numerics.random.row_hash import (
    NULL,
    add_checksums,
    checksum,
    hash_items,
    hash_words,
    join_columns,
)

SECRET = b"rows"
AT_ONCE_BYTES = 2_000_000
"""Arrow bytes that are hashed together: intermediate arrays then stay in the processor's caches."""


def batch_checksum(batch: pa.RecordBatch, *, compiled: bool = False) -> int:
    """Checksum of the rows of a batch: the sum of their hashes."""
    total = 0
    for part in _pieces(batch):
        columns = [value_hashes(column, compiled=compiled) for column in part.columns]
        total = add_checksums(total, checksum(join_columns(columns, part.num_rows)))
    return total


def _pieces(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    parts = min(batch.num_rows, 1 + batch.nbytes // AT_ONCE_BYTES)
    for i in range(parts):
        start, stop = i * batch.num_rows // parts, (i + 1) * batch.num_rows // parts
        yield batch.slice(start, stop - start)


def value_hashes(array: pa.Array, *, compiled: bool = False) -> Words:
    """Hash of every value of an array; equal values of one type have equal hashes."""
    array = _plain(array)
    found = _hashes(array, compiled)
    valid = valid_rows(array)
    return found if valid is None else np.where(valid, found, NULL)


def _plain(array: pa.Array) -> pa.Array:
    """The same values without dictionary, extension or view."""
    if isinstance(array, pa.ExtensionArray):
        return _plain(array.storage)
    type_ = array.type
    if patypes.is_dictionary(type_):
        return _plain(array.dictionary_decode())
    for is_view, plain in (
        (patypes.is_string_view, pa.large_string()),
        (patypes.is_binary_view, pa.large_binary()),
    ):
        if is_view(type_):
            return array.cast(plain)
    return array


def _hashes(array: pa.Array, compiled: bool) -> Words:
    type_, n = array.type, len(array)
    if patypes.is_null(type_):
        return np.full(n, NULL)
    if patypes.is_boolean(type_):
        return hash_words(bit_values(array).astype(np.uint64))
    if patypes.is_struct(type_):
        # flattened: children without the struct's own nulls, and from its offset on
        return hash_words(join_columns([value_hashes(c, compiled=compiled) for c in array.flatten()], n))
    if patypes.is_fixed_size_list(type_):
        values = array.values.slice(array.offset * type_.list_size, n * type_.list_size)
        return hash_items(value_hashes(values, compiled=compiled), np.arange(n + 1) * type_.list_size)
    if patypes.is_list(type_) or patypes.is_large_list(type_) or patypes.is_map(type_):
        return _list_hashes(array, compiled)
    if _is_text(type_):
        return _text_hashes(array, compiled)
    return _fixed_hashes(array)


def _is_text(type_: pa.DataType) -> bool:
    kinds = (patypes.is_string, patypes.is_large_string, patypes.is_binary, patypes.is_large_binary)
    return any(kind(type_) for kind in kinds) and not patypes.is_fixed_size_binary(type_)


def _edges(array: pa.Array, *, large: bool) -> Ints:
    kind = np.dtype(np.int64 if large else np.int32)
    offsets = array.buffers()[1]
    if len(array) == 0 or offsets is None:
        return np.zeros(len(array) + 1, np.int64)
    return np.frombuffer(offsets, kind, len(array) + 1, array.offset * kind.itemsize).astype(np.int64)


def _list_hashes(array: pa.Array, compiled: bool) -> Words:
    edges = _edges(array, large=patypes.is_large_list(array.type))
    # the items as they are stored; those of null lists, too, which do not count
    items = array.values.slice(int(edges[0]), int(edges[-1] - edges[0]))
    return hash_items(value_hashes(items, compiled=compiled), edges - edges[0])


def _text_hashes(array: pa.Array, compiled: bool) -> Words:
    edges = _edges(array, large=patypes.is_large_string(array.type) or patypes.is_large_binary(array.type))
    data = array.buffers()[2]
    first, last = int(edges[0]), int(edges[-1])
    text = np.empty(0, np.uint8) if last == first else np.frombuffer(data, np.uint8, last - first, first)
    return hash_messages(text, edges - first, SECRET, compiled=compiled)


def _fixed_hashes(array: pa.Array) -> Words:
    """Hashes of values of a fixed number of bytes, by their bits."""
    try:
        width, n = array.type.bit_width // 8, len(array)
    except ValueError as error:
        raise DataError(f"values of type {array.type} cannot be compared; leave the column out") from error
    data = array.buffers()[1]
    if n == 0 or data is None or width == 0:
        return np.zeros(n, np.uint64)
    if width in (1, 2, 4, 8):
        values = np.frombuffer(data, np.dtype(f"<u{width}"), n, array.offset * width)
        return hash_words(values.astype(np.uint64))
    raw = np.frombuffer(data, np.uint8, n * width, array.offset * width).reshape(n, width)
    padded = np.zeros((n, -(-width // 8) * 8), np.uint8)
    padded[:, :width] = raw
    words = padded.view("<u8").astype(np.uint64)
    return join_columns([hash_words(words[:, i]) for i in range(words.shape[1])], n)
