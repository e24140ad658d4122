"""Local files of one small row group, read in one go: of many tiny files most of the time would be calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from distmom.lake.files import footers
from distmom.lake.files.stores import is_local
from distmom.memory import allowed_bytes

if TYPE_CHECKING:
    import pyarrow.fs as pafs

    from distmom.lake.assemble import Assembler
    from distmom.lake.source import Batch, FileRef

SMALL_BYTES = 65_536
"""Files up to here are read in one go."""

LARGE = 64
"""Nor is a row group that takes more than one part in so many of what a thread may hold, decoded."""


def only_batch(
    filesystem: pafs.FileSystem,
    root: str,
    file: FileRef,
    batch_rows: int,
    assembler_of: Callable[[Any, FileRef], Assembler],
) -> Batch | None:
    """All rows of a file; None where it has none, is of another kind, or anything at all is wrong with it.

    Then `Reader.batches` reads it, whose checks are the same and have the words for what they find.
    """
    if file.size > SMALL_BYTES or not is_local(filesystem):
        return None
    try:
        with filesystem.open_input_file(footers.location(root, file)) as stream:
            parquet = footers.parquet_file(stream, (), footers.LOCAL_BUFFER_BYTES, None)
            found = _batch(parquet, file, batch_rows, assembler_of)
        footers.check_unchanged(filesystem, root, file)  # neither since it was listed, nor while it was read
    except Exception:  # it is told by who reads the file once more
        return None
    return found


def _batch(
    parquet: Any, file: FileRef, batch_rows: int, assembler_of: Callable[[Any, FileRef], Assembler]
) -> Batch | None:
    """The rows of an open file of one row group whose footer agrees with itself."""
    metadata = parquet.metadata
    if metadata.num_row_groups != 1 or parquet.hidden:
        return None
    group = metadata.row_group(0)
    n_rows = group.num_rows
    if (
        not 0 < n_rows <= batch_rows
        or metadata.num_rows not in (0, n_rows)
        or file.n_rows not in (None, n_rows)
    ):
        return None
    assembler = assembler_of(parquet, file)
    positions = assembler.positions
    if not positions or not assembler.narrow or group.num_columns != metadata.num_columns:
        return None
    most = allowed_bytes()
    if most is not None and group.total_byte_size > most / LARGE:
        return None
    # before its chunks are asked for: PyArrow ends the process over some damaged ones, unless they were read
    batches = parquet.reader.iter_batches(
        batch_rows, row_groups=[0], column_indices=positions, use_threads=False
    )
    batch, n_bytes = next(batches), 0
    for position, leaf in zip(positions, assembler.leaves, strict=True):
        chunk = group.column(position)
        if (chunk.path_in_schema, chunk.physical_type) != leaf or chunk.num_values != n_rows:
            return None
        n_bytes += chunk.total_compressed_size
    return assembler.batch(batch.columns, 0, n_rows, n_bytes) if batch.num_rows == n_rows else None
