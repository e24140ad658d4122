"""Whether what a thread decodes of a file at a time fits into what it may hold, as the footer tells."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from distmom.errors import BadFileError, ResourceError
from distmom.lake.extent import PAGE_BYTES, Extent
from distmom.lake.files import footers
from distmom.lake.files.failures import problem
from distmom.lake.files.footer_checks import check_chunks
from distmom.memory import allowed_bytes

if TYPE_CHECKING:
    from distmom.lake.assemble import Assembler
    from distmom.lake.source import FileRef

LONG_TEXT = 6.5
"""Factor for a text that makes a page of its own: it is held in the page, in the dictionaries of two batches,
and as a key. Measured: 6.4 as a key, 4.7 in a condition."""

LARGE = 8
"""Row groups of less than one part in so many of what a thread may hold are read without a closer look."""


def check_fits(
    parquet: pq.ParquetFile, groups: list[int], assembler: Assembler, batch_rows: int, file: FileRef
) -> None:
    """ResourceError if decoding one batch takes more than a thread may hold.

    A file of some kilobytes may hold gigabytes, of which its footer tells.
    """
    most, positions = allowed_bytes(), assembler.positions
    if most is None or not positions:
        return
    for number in groups:
        for name, position in zip(assembler.names, positions, strict=True):
            if (number, position) not in parquet.checked:
                _check_chunk(parquet, number, position, name, file)
        group, large = parquet.metadata.row_group(number), 0
        for position in positions:
            chunk = group.column(position)
            large += max(chunk.total_uncompressed_size, 8 * chunk.num_values)
        if large > most / LARGE:
            _check_group(parquet, group, positions, batch_rows, file, most)


def _check_chunk(parquet: pq.ParquetFile, number: int, position: int, name: str, file: FileRef) -> None:
    try:
        check_chunks(parquet, [number], [position])
    except (pa.ArrowException, OSError) as error:
        place = f"damaged in row group {number}, column {name!r}"
        raise BadFileError(f"file {file.path} {problem(error, place)}", name) from error


def _check_group(
    parquet: pq.ParquetFile,
    group: pq.RowGroupMetaData,
    positions: list[int],
    batch_rows: int,
    file: FileRef,
    most: float,
) -> None:
    names = {str(i): i for i in positions}
    extent = Extent.of_group(group, names)
    each = {i: extent.reading((n,), batch_rows, footers.DICTIONARY_BYTES).of_thread for n, i in names.items()}
    for name, at in names.items():
        if extent.chunks[name].text and not extent.chunks[name].long:
            each[at] += LONG_TEXT * max(0, footers.largest_page_of(parquet, group, at) - PAGE_BYTES)
    needed = sum(each.values())
    if needed <= most:
        return
    worst = group.column(max(each, key=lambda i: each[i]))
    raise ResourceError(
        f"file {file.path}: reading a batch takes {needed / 1e6:,.0f} MB, more than the {most / 1e6:,.0f} MB "
        f"that a thread may hold, most of it for column {worst.path_in_schema!r} "
        f"({worst.total_uncompressed_size / 1e6:,.0f} MB, {worst.num_values:,} values in {group.num_rows:,} "
        "rows); allow more memory_limit, or use fewer threads or batch_rows"
    )
