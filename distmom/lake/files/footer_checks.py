"""Whether a footer agrees with itself, and with the table's log: numbers of rows and of columns."""

from __future__ import annotations

import pyarrow.parquet as pq

from distmom.errors import BadFileError
from distmom.lake.source import FileRef


def check_footer(metadata: pq.FileMetaData, file: FileRef) -> None:
    """Refuse a footer that contradicts itself or the table's log: rows are counted by one of these numbers.

    BadFileError that names the file and both numbers.
    """
    n_rows = 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        n_rows += group.num_rows
        if group.num_columns != metadata.num_columns:
            raise BadFileError(
                f"file {file.path} is damaged: its schema has {metadata.num_columns} stored columns, "
                f"row group {number} has {group.num_columns}"
            )
    if n_rows != metadata.num_rows:
        raise BadFileError(
            f"file {file.path} is damaged: its footer tells of {metadata.num_rows:,} rows, its row groups of "
            f"{n_rows:,}"
        )
    if file.n_rows is not None and file.n_rows != n_rows:
        raise BadFileError(
            f"file {file.path} has {n_rows} rows, but the table's log says {file.n_rows}; "
            "restore the file, or repair the table"
        )
