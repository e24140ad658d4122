"""Times of Impala, Hive and Spark (INT96): nanoseconds of a day and the day, put together here.

PyArrow does so without looking: nanoseconds below 0 are taken for a number without a sign, which is 584 years
later, and a day that 64 bits have no room for (a Julian day below 0, as Impala's of times without a date)
becomes another. So these columns are read as twelve bytes a value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from distmom.errors import BadFileError
from distmom.lake.columns.convert import valid_rows
from distmom.lake.files.footer_bytes import bytes_footer
from distmom.lake.source import FileRef

PARTS = np.dtype([("nanoseconds", "<i8"), ("day", "<u4")])
DAY_OF_1970, DAY_MICROSECONDS = 2_440_588, 86_400_000_000
MOST_MILLISECONDS = (2**63 - 1) // 1_000
SURE_DAYS = 106_000_000
"""From 1970: with nanoseconds of any size 64-bit microseconds hold them."""


def is_int96(schema: pq.ParquetSchema, position: int) -> bool:
    """Whether a physical column of a schema holds such times, one a row."""
    column = schema.column(position)
    return bool(column.physical_type == "INT96" and column.max_repetition_level == 0)


class Int96Columns:
    """Such columns of some row groups, read along with others.

    Parameters
    ----------
    parquet : as of `distmom.lake.files.footers.open_parquet`
    groups, positions : sequence of int
        Row groups and physical columns.
    batch_rows : int
        How many rows are read at a time.
    """

    def __init__(
        self, parquet: Any, groups: Sequence[int], positions: Sequence[int], batch_rows: int, file: FileRef
    ) -> None:
        self._file, self._names = file, [parquet.schema.column(at).path for at in positions]
        footer = bytes_footer(parquet, groups, positions, PARTS.itemsize)
        opened = pq.ParquetFile(parquet.stream, metadata=footer, **parquet.options)
        self._batches: Iterator[pa.RecordBatch] = opened.iter_batches(batch_rows, use_threads=False)
        self._kept: list[pa.Array] = [pa.array([], pa.timestamp("us"))] * len(positions)

    def take(self, n_rows: int) -> list[pa.Array]:
        """The times of the next rows. BadFileError where microseconds cannot hold one, or rows lack."""
        parts = [self._kept]
        while sum(len(part[0]) for part in parts) < n_rows:
            batch = next(self._batches, None)
            if batch is None:
                raise BadFileError(
                    f"file {self._file.path} is damaged: column {self._names[0]!r} has fewer values than rows"
                )
            parts.append([self._times(*one) for one in zip(batch.columns, self._names, strict=True)])
        whole = [part[0] if len(part) == 1 else pa.concat_arrays(part) for part in zip(*parts, strict=True)]
        self._kept = [times.slice(n_rows) for times in whole]
        return [times.slice(0, n_rows) for times in whole]

    def _times(self, values: pa.Array, name: str) -> pa.Array:
        n = values.offset + len(values)
        parts = np.frombuffer(values.buffers()[1] or b"", PARTS, n)
        days = parts["day"].astype(np.int64) - DAY_OF_1970
        if n and days.max() > SURE_DAYS:
            self._check(days, parts["nanoseconds"], values, name)
        micros = days * DAY_MICROSECONDS + parts["nanoseconds"] // 1_000
        buffers = [values.buffers()[0], pa.py_buffer(micros)]
        return pa.Array.from_buffers(
            pa.timestamp("us"), len(values), buffers, values.null_count, values.offset
        )

    def _check(self, days: Any, nanoseconds: Any, values: pa.Array, name: str) -> None:
        millis = (days * (DAY_MICROSECONDS // 1_000) + nanoseconds // 1_000_000)[values.offset :]
        valid = valid_rows(values)
        beyond = millis > MOST_MILLISECONDS
        if (beyond if valid is None else beyond & valid).any():
            raise BadFileError(
                f"file {self._file.path}: column {name!r} has INT96 times that 64-bit microseconds cannot "
                "hold (of no date, or beyond the year 294,246); choose another column, or rewrite the file",
                name,
            )
