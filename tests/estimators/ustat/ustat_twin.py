"""Slow twin of `distmom.ustatistic` on a partition: rows to blocks one by one, plain loops over pairs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from distmom.numerics.blocks.labels import file_key, label_table, labels, repeat_seed
from distmom.numerics.random.philox import resolve_seed
from distmom.theory.ladder import fine_blocks


def rows_of(folder: Path, columns: Sequence[str]) -> list[tuple[str, int, tuple[float | None, ...]]]:
    """Path, row number and values of every row of a lake, in the order of paths."""
    found = []
    for path in sorted(folder.rglob("*.parquet"), key=lambda p: p.relative_to(folder).as_posix()):
        table = pq.ParquetFile(path).read(columns=list(columns))
        values = list(zip(*(table.column(c).to_pylist() for c in columns), strict=True))
        name = path.relative_to(folder).as_posix()
        found += [(name, row, value) for row, value in enumerate(values)]
    return found


def blocks_of(
    folder: Path,
    columns: Sequence[str],
    n_blocks: int,
    rng: int = 0,
    sample: int = 0,
    *,
    weighted: bool = False,
) -> list[list[tuple[float, ...]]]:
    """Complete rows of each random block, for a number of blocks; where `weighted`, of positive weight."""
    seed = repeat_seed(resolve_seed(rng)[0], sample)
    n_fine = fine_blocks(n_blocks)
    table = label_table(seed, n_fine)
    fine: list[list[Any]] = [[] for _ in range(n_fine)]
    for path, row, values in rows_of(folder, columns):
        whole = all(v is not None and not np.isnan(v) for v in values)
        if whole and not (weighted and values[-1] == 0.0):
            fine[int(labels(row, 1, file_key(seed, path), table)[0])].append(values)
    n, before = sum(map(len, fine)), 0
    blocks: list[list[tuple[float, ...]]] = [[] for _ in range(n_blocks)]
    for rows in fine:
        twice = 2 * before + len(rows)
        blocks[min(n_blocks - 1, n_blocks * twice // (2 * n))] += rows
        before += len(rows)
    return blocks
