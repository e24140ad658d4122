"""Writing Parquet files as others were written: compression and dictionaries of their pages."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from distmom.lake.whole_rows import BATCH_ROWS, plain_array

ROW_GROUP_ROWS = 1 << 20
_CODECS = {"UNCOMPRESSED": "none", "LZ4_RAW": "lz4", "LZ4": "lz4"}


@dataclass(frozen=True)
class WriteStyle:
    """How column chunks are written; picklable.

    Attributes
    ----------
    compression : tuple of (str, str)
        Codec of each physical column.
    dictionaries : tuple of str
        Physical columns whose pages have dictionaries.
    """

    compression: tuple[tuple[str, str], ...] = ()
    dictionaries: tuple[str, ...] | None = None

    @classmethod
    def of(cls, parquet: pq.ParquetFile) -> WriteStyle:
        """That of a file's first row group."""
        if parquet.metadata.num_row_groups == 0:
            return cls()
        group = parquet.metadata.row_group(0)
        chunks = [group.column(i) for i in range(group.num_columns)]
        return cls(
            tuple((c.path_in_schema, _CODECS.get(c.compression, c.compression.lower())) for c in chunks),
            tuple(c.path_in_schema for c in chunks if c.has_dictionary_page),
        )

    def options(self) -> dict[str, Any]:
        """Arguments of PyArrow's writer."""
        found: dict[str, Any] = {"use_compliant_nested_type": False, "store_schema": True}
        if self.compression:
            found["compression"] = dict(self.compression)
        if self.dictionaries is not None:
            found["use_dictionary"] = list(self.dictionaries) or False
        return found


def write_parquet(path: Path, rows: pa.Table, style: WriteStyle) -> int:
    """Write a file, whole and on the disk; its bytes."""
    with path.open("xb") as file:
        pq.write_table(rows, file, row_group_size=ROW_GROUP_ROWS, **style.options())
        file.flush()
        os.fsync(file.fileno())
        return file.tell()


def plain_batches(path: Path) -> Iterator[pa.RecordBatch]:
    """The rows of a file just written, without dictionaries, as they come back from it."""
    with pq.ParquetFile(path, memory_map=False, buffer_size=1 << 18, pre_buffer=False) as parquet:
        for batch in parquet.iter_batches(BATCH_ROWS, use_threads=False):
            columns = [plain_array(column) for column in batch.columns]
            yield pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
