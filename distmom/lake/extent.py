"""How large the files of a source are, as far as footers tell, and what decoding them holds in memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import pyarrow.parquet as pq

from distmom.memory import Held, Memory

PAGE_BYTES = 1_100_000
"""Of a page, and of a dictionary: what writers aim at."""

PAGES = 2.4
"""So many of a column are held at a time: a dictionary as it is stored and decoded, and a page."""

ARRAYS = 3.2
"""Arrays of a batch: one being filled, the one before, and what a conversion and the pool of memory take.
There is one before it only if a file has more than one batch."""

COLUMN_BYTES = 22_000
"""Of a column whatever it holds: its readers, its part of the footer."""


LONG, LONG_BYTES = 1_000, 4_000_000
"""Texts of more bytes than this on average, and so many in all, are long."""

DICTIONARIES = 4.0
"""As many times a dictionary is held: as it is stored, decoded, built, handed out."""

KEPT = 9.0
"""As many arrays of texts that are numbered are held: the pool of memory keeps those of batches before."""

TEXT_BYTES = 44.0
"""Of a text, beside its letters: its number, its place, its key."""


NO_KEYS = ("FLOAT", "DOUBLE", "INT96")
"""Physical types whose range tells of no number of values: no row group has to be asked."""


class Chunk(NamedTuple):
    """A column in the largest row group: bytes once decompressed, values, whether they are texts."""

    n_bytes: int
    n_values: int
    text: bool = False
    n_keys: int | None = (
        None  # about so many values at most: whole numbers in the range, texts by their bytes
    )

    @property
    def long(self) -> bool:
        """Whether texts are so long that rows of a batch must share those that repeat."""
        return self.n_bytes > LONG_BYTES + LONG * self.n_values


class Extent(NamedTuple):
    """The largest file of a source."""

    rows: int
    group_rows: int
    n_rows: int  # of all files, about
    chunks: Mapping[str, Chunk]  # of the columns that are stored

    @classmethod
    def of_group(cls, group: pq.RowGroupMetaData, positions: Mapping[str, int]) -> Extent:
        """A row group by itself."""
        chunks = {}
        for name, position in positions.items():
            chunk = group.column(position)
            text = chunk.physical_type == "BYTE_ARRAY"
            chunks[name] = Chunk(chunk.total_uncompressed_size, chunk.num_values, text)
        return cls(group.num_rows, group.num_rows, group.num_rows, chunks)

    @classmethod
    def of(
        cls, metadata: pq.FileMetaData, positions: Mapping[str, int], scale: float, total: float
    ) -> Extent:
        """By a footer; the largest file has `scale` times its bytes, all files `total` times."""
        sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
        if not sizes:
            return cls(0, 0, 0, {})
        largest, chunks = metadata.row_group(sizes.index(max(sizes))), {}
        for name, position in positions.items():
            chunk = largest.column(position)
            text = chunk.physical_type == "BYTE_ARRAY"
            chunks[name] = Chunk(
                chunk.total_uncompressed_size, chunk.num_values, text, _n_keys(metadata, position)
            )
        rows = sum(sizes)
        return cls(int(rows * scale), min(largest.num_rows, int(rows * scale)), int(rows * total), chunks)

    def reading(self, names: tuple[str, ...], batch_rows: int, dictionaries: int) -> Memory:
        """What a thread holds while it decodes these columns; texts as dictionaries up to so many bytes."""
        rows, pages, arrays, own = min(batch_rows, self.rows), 0.0, 0.0, 0.0
        follows = min(1.0, self.rows / max(rows, 1) - 1.0)  # rows of the next batch, as a share of the first
        for name in names:
            chunk = self.chunks.get(name)
            if chunk is None:
                arrays += (ARRAYS - 1.0 + follows) * 8 * rows
                continue
            own += COLUMN_BYTES
            pages += PAGES * min(chunk.n_bytes, PAGE_BYTES)
            times = ARRAYS - 1.0 + follows
            width = 8.0 * max(chunk.n_values, 1) / max(self.group_rows, 1)  # of lists several a row
            if chunk.text and chunk.long:
                pages += DICTIONARIES * chunk.n_bytes
                width = TEXT_BYTES
            elif chunk.text:
                coded = chunk.n_bytes <= dictionaries + 3 * chunk.n_values
                width = TEXT_BYTES + (0.0 if coded else chunk.n_bytes / max(self.group_rows, 1))
                times = KEPT if coded else times
                pages += 2.0 * min(chunk.n_bytes, dictionaries)
            arrays += times * width * rows
        remedy = "use fewer columns"
        return Memory(
            (
                Held("decoded pages", pages + own, remedy=remedy),
                Held("batches", arrays, remedy=f"{remedy} or batch_rows"),
            )
        )

    def n_keys(self, names: tuple[str, ...]) -> int | None:
        """Groups that these keys make at most, where the footer tells."""
        found = 1
        for name in names:
            chunk = self.chunks.get(name)
            if chunk is None or chunk.n_keys is None:
                return None
            found = min(found * chunk.n_keys, self.n_rows)
        return found


def _n_keys(metadata: pq.FileMetaData, position: int) -> int | None:
    """By the least and the greatest value that statistics tell of."""
    kind = metadata.schema.column(position).physical_type
    if kind in NO_KEYS:
        return None
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    if any(group.column(position).physical_type != kind for group in groups):
        return None  # damaged: PyArrow would end the process over statistics of another type
    every = [group.column(position).statistics for group in groups]
    if not every or any(one is None or not one.has_min_max for one in every):
        return None
    try:
        low, high = min(one.min for one in every), max(one.max for one in every)
    except (OverflowError, ValueError):  # times that Python does not have
        return None
    if isinstance(low, int):
        return int(high - low + 2)  # and null
    if not isinstance(low, (str, bytes)):
        return None
    chunk = max((group.column(position) for group in groups), key=lambda one: one.num_values)
    return _n_texts(chunk.total_uncompressed_size, chunk.num_values, (len(low) + len(high)) / 2)


def _n_texts(n_bytes: int, n_values: int, length: float) -> int:
    """Different texts of about this length in a dictionary, beside which each value has its number there."""
    for bits in range(1, 24):
        found = (n_bytes - n_values * bits / 8) / (4.0 + length)
        if found <= 1 << bits:
            return int(max(found, 1 << (bits - 1)))
    return int(n_bytes / (4.0 + length))
