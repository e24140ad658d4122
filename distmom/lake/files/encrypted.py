"""Files some of whose columns are encrypted: the others can be read.

PyArrow ends the process (C++ ``terminate``) when it is asked for the metadata of such a column without a key,
so it is found out before which columns these are.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from distmom.lake.files.footer_checks import check_chunks

SIGNATURE_BYTES = 28
"""Nonce and tag behind a footer that is not encrypted itself, as the format has it."""


def is_signed(stream: pa.NativeFile, metadata: pq.FileMetaData) -> bool:
    """Whether a footer is signed, as those of files with encrypted columns are."""
    length = int.from_bytes(stream.read_at(4, stream.size() - 8), "little")
    return bool(length == metadata.serialized_size + SIGNATURE_BYTES)


def hidden_columns(parquet: Any) -> frozenset[str]:
    """Names of the top-level columns that cannot be read, by the first row group."""
    names: set[str] = set()
    if parquet.metadata.num_row_groups == 0:
        return frozenset()
    for position in range(parquet.metadata.num_columns):
        try:
            check_chunks(parquet, [0], [position])
        except (OSError, pa.ArrowException):
            names.add(parquet.schema.column(position).path.partition(".")[0])
    return frozenset(names)
