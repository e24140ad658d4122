"""Times of Impala, Hive and Spark (INT96) that no count of microseconds in 64 bits can hold.

PyArrow wraps them around: a time without a date (a Julian day below 0), as Impala's, becomes the year 70109.
The count in milliseconds holds all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from distmom.errors import BadFileError
from distmom.lake.source import FileRef

YEAR_1, YEAR_10000 = -62_135_596_800_000_000, 253_402_300_800_000_000
"""In microseconds: what lies between is taken as it is; 1 in 58 of all wrapped times would lie there."""
MOST_MILLISECONDS = (2**63 - 1) // 1_000


def is_int96(schema: pq.ParquetSchema, position: int) -> bool:
    """Whether a physical column of a schema holds such times."""
    return bool(schema.column(position).physical_type == "INT96")


def looks_wrapped(times: pa.Array) -> bool:
    """Whether some of a batch of such times may have been wrapped around."""
    return bool(times.type == pa.timestamp("us")) and _beyond(times, YEAR_1, YEAR_10000 - 1)


def refuse_wrapped(parquet: Any, groups: Sequence[int], position: int, file: FileRef) -> None:
    """Refuse a column if some of its times were wrapped around.

    BadFileError that names file and column.

    Parameters
    ----------
    parquet : as of `distmom.lake.files.footers.open_parquet`
    groups : sequence of int
        The row groups that are read.
    """
    coarse = pq.ParquetFile(
        parquet.stream, metadata=parquet.metadata, pre_buffer=False, coerce_int96_timestamp_unit="ms"
    )
    for batch in coarse.reader.iter_batches(
        65_536, row_groups=list(groups), column_indices=[position], use_threads=False
    ):
        if _beyond(batch.column(0), -MOST_MILLISECONDS, MOST_MILLISECONDS):
            name = parquet.schema.column(position).path
            raise BadFileError(
                f"file {file.path}: column {name!r} has INT96 times that 64-bit microseconds cannot hold "
                "(of no date, or beyond the year 294,246); choose another column, or write the file anew"
            )


def _beyond(times: pa.Array, least: int, most: int) -> bool:
    import pyarrow.compute as pc  # 60 ms, for columns of these times alone

    found = pc.min_max(times.view(pa.int64()))
    low, high = found["min"].as_py(), found["max"].as_py()
    return low is not None and not least <= low <= high <= most
