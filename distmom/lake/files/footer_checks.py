"""Whether a footer agrees with itself, and with the table's log: numbers of rows and of columns."""

from __future__ import annotations

import pyarrow.parquet as pq

from distmom.errors import BadFileError
from distmom.lake.source import FileRef


def rows_of(metadata: pq.FileMetaData) -> int:
    """Rows of all row groups, which are those that are read."""
    return sum(metadata.row_group(number).num_rows for number in range(metadata.num_row_groups))


def check_footer(metadata: pq.FileMetaData, file: FileRef) -> None:
    """Refuse a footer that contradicts itself or the table's log: rows are counted by one of these numbers.

    Some writers leave the number of a file's rows at 0; then those of the row groups count.

    BadFileError that names the file and both numbers.
    """
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        if group.num_columns != metadata.num_columns:
            raise BadFileError(
                f"file {file.path} is damaged: its schema has {metadata.num_columns} stored columns, "
                f"row group {number} has {group.num_columns}"
            )
    n_rows = rows_of(metadata)
    if metadata.num_rows not in (0, n_rows):
        raise BadFileError(
            f"file {file.path} is damaged: its footer tells of {metadata.num_rows:,} rows, its row groups of "
            f"{n_rows:,}"
        )
    if file.n_rows is not None and file.n_rows != n_rows:
        raise BadFileError(
            f"file {file.path} has {n_rows} rows, but the table's log says {file.n_rows}; "
            "restore the file, or repair the table"
        )
