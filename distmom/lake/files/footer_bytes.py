"""Footers of Parquet files, written: some columns of a file that is there, read as bytes of one length.

They are Thrift structs in the compact protocol. PyArrow reads the pages under them as under the file's own
footer, without what it would make of the values.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

MAGIC = b"PAR1"
FIXED_BYTES, REQUIRED, OPTIONAL = 7, 0, 1
CODECS = {"UNCOMPRESSED": 0, "SNAPPY": 1, "GZIP": 2, "LZO": 3, "BROTLI": 4, "ZSTD": 6, "LZ4": 7, "UNKNOWN": 5}
"""As the format counts them; PyArrow calls raw LZ4 by this name, and Hadoop's unknown."""
_I32, _I64, _BINARY, _LIST, _STRUCT = 5, 6, 8, 9, 12
_Field = tuple[int, int, bytes]


def bytes_footer(
    parquet: pq.ParquetFile, groups: Sequence[int], positions: Sequence[int], n_bytes: int
) -> pq.FileMetaData:
    """The footer of a file that has some columns and row groups of another, whose pages it names.

    Parameters
    ----------
    positions : sequence of int
        Physical columns that are no lists and no part of structs; their order becomes that of the columns,
        which are called by their numbers in it.
    n_bytes : int
        Of a value.
    """
    metadata = parquet.metadata
    schema = [_struct((4, _BINARY, _binary("schema")), (5, _I32, _integer(len(positions))))]
    for i, position in enumerate(positions):
        optional = parquet.schema.column(position).max_definition_level > 0
        schema.append(
            _struct(
                (1, _I32, _integer(FIXED_BYTES)),
                (2, _I32, _integer(n_bytes)),
                (3, _I32, _integer(OPTIONAL if optional else REQUIRED)),
                (4, _BINARY, _binary(str(i))),
            )
        )
    kept = [metadata.row_group(number) for number in groups]
    chunks = [[_chunk(group.column(at), str(i)) for i, at in enumerate(positions)] for group in kept]
    of_groups = [
        _struct(
            (1, _LIST, _list(_STRUCT, each)),
            (2, _I64, _integer(group.total_byte_size)),
            (3, _I64, _integer(group.num_rows)),
        )
        for group, each in zip(kept, chunks, strict=True)
    ]
    footer = _struct(
        (1, _I32, _integer(1)),
        (2, _LIST, _list(_STRUCT, schema)),
        (3, _I64, _integer(sum(group.num_rows for group in kept))),
        (4, _LIST, _list(_STRUCT, of_groups)),
        (6, _BINARY, _binary(metadata.created_by or "")),  # of some writers PyArrow knows what they did wrong
    )
    file = MAGIC + footer + len(footer).to_bytes(4, "little") + MAGIC
    return pq.read_metadata(pa.BufferReader(file))


def _chunk(chunk: Any, name: str) -> bytes:
    metadata = [
        (1, _I32, _integer(FIXED_BYTES)),
        (2, _LIST, _list(_I32, [])),  # encodings, which pages name as well
        (3, _LIST, _list(_BINARY, [_binary(name)])),
        (4, _I32, _integer(CODECS[chunk.compression])),
        (5, _I64, _integer(chunk.num_values)),
        (6, _I64, _integer(chunk.total_uncompressed_size)),
        (7, _I64, _integer(chunk.total_compressed_size)),
        (9, _I64, _integer(chunk.data_page_offset)),
    ]
    if chunk.dictionary_page_offset is not None:
        metadata.append((11, _I64, _integer(chunk.dictionary_page_offset)))
    return _struct((2, _I64, _integer(chunk.file_offset)), (3, _STRUCT, _struct(*metadata)))


def _struct(*fields: _Field) -> bytes:
    """Fields by number, at most 15 apart, of a type each."""
    parts, last = [], 0
    for number, type_, value in fields:
        parts += [bytes([number - last << 4 | type_]), value]
        last = number
    return b"".join([*parts, b"\0"])


def _list(type_: int, values: Iterable[bytes]) -> bytes:
    every = list(values)
    return b"".join([bytes([0xF0 | type_]), _varint(len(every)), *every])


def _binary(text: str) -> bytes:
    value = text.encode(errors="replace")
    return _varint(len(value)) + value


def _integer(number: int) -> bytes:
    """A number with its sign in the lowest bit."""
    return _varint(2 * number if number >= 0 else -2 * number - 1)


def _varint(number: int) -> bytes:
    parts = bytearray()
    while number > 127:
        parts.append(number & 127 | 128)
        number >>= 7
    return bytes([*parts, number])
