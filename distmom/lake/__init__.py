"""Parquet lakes and data in memory, as batches of float64 values.

`open_lake` lists files or wraps data in memory; ``source.reader(options)`` gives a small picklable reader;
``reader.batches(file)`` gives batches. `parse_filter` compiles a condition, `KeyEncoder` numbers groups.
"""

from __future__ import annotations

from distmom.lake.files.listing import open_lake
from distmom.lake.filters import Filter, as_filter, parse_filter
from distmom.lake.keys.encoder import KeyEncoder
from distmom.lake.keys.keyvalues import decode_key
from distmom.lake.lake import Lake
from distmom.lake.memory.memory_lake import MemoryLake
from distmom.lake.reader import Reader
from distmom.lake.source import BATCH_ROWS, Batch, BatchReader, FileRef, ReadOptions, Source

__all__ = [
    "BATCH_ROWS",
    "Batch",
    "BatchReader",
    "FileRef",
    "Filter",
    "KeyEncoder",
    "Lake",
    "MemoryLake",
    "ReadOptions",
    "Reader",
    "Source",
    "as_filter",
    "decode_key",
    "open_lake",
    "parse_filter",
]
