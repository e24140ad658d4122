"""Memory of a U-statistic: that of the blocks which are kept at once, whatever the lake."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from mean_lakes import write
from peak_memory import PRINT_PEAK

import distmom as dm
from distmom.passes import regrouping


def peak(lake: Path, n_blocks: int) -> int:
    """Bytes of arrays at the worst moment: NumPy tells tracemalloc of its own."""
    tracemalloc.start()
    try:
        dm.ustatistic(
            dm.scan(lake, batch_rows=8_192),
            "x",
            kernel="gini",
            rng=0,
            blocks=n_blocks,
            executor=dm.Threads(1),
        )
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_memory_is_that_of_the_blocks_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 20,000 rows, four at a time: three times the rows in three times the blocks take no more.

    Four blocks are 640 kB, and one is evaluated in 14 words a row, 2.2 MB; all rows would be 3.8 or 11.5 MB.
    The row sample of the survey comes first, with at most 65,536 rows three times. Measured: 7.4 MB with
    240,000 rows and 6.1 MB with 720,000.
    """
    g = np.random.default_rng(0)
    for name, n_files in (("small", 8), ("large", 24)):
        for i in range(n_files):
            write(tmp_path / name / f"{i:02}.parquet", {"x": g.normal(size=60_000)})
    monkeypatch.setattr(regrouping, "RANGE_BYTES", 4 * 8 * 20_000)
    peak(tmp_path / "small", 23)  # what is loaded once
    small, large = peak(tmp_path / "small", 23), peak(tmp_path / "large", 71)
    assert large < 1.2 * small + 2**20 and large < 8 * 60_000 * 24
    monkeypatch.setattr(regrouping, "RANGE_BYTES", 10**9)
    assert peak(tmp_path / "large", 71) > 8 * 60_000 * 24  # the negative control: all blocks at once


MEASURE = (
    """
import sys
import distmom as dm
from distmom.passes import regrouping
lake, n_blocks, most_reads, scratch = sys.argv[1:]
regrouping.MOST_READS, regrouping.LEAST_BYTES, regrouping.PIECE_BYTES = int(most_reads), 0, 1
regrouping.DISK_BYTES = regrouping.LEAST_RUN = 1_000_000
dm.ustatistic(lake, "x", kernel="gini", blocks=int(n_blocks), rng=0, executor=dm.Threads(1, scratch=scratch))
"""
    + PRINT_PEAK
)


@pytest.mark.slow
def test_memory_by_way_of_the_disk(tmp_path: Path) -> None:
    """Ranges of a block or two of 100,000 rows, that of Arrow included. Measured: 265, 275 and 320 MB."""
    g = np.random.default_rng(0)
    for name, n_files in (("small", 8), ("large", 24)):
        for i in range(n_files):
            write(tmp_path / name / f"{i:02}.parquet", {"x": g.normal(size=10**6)})

    def megabytes(name: str, n_blocks: int, most_reads: int) -> int:
        words = [sys.executable, "-c", MEASURE, tmp_path / name, str(n_blocks), str(most_reads), tmp_path]
        return int(subprocess.run(words, capture_output=True, check=True, text=True).stdout)

    small, large = megabytes("small", 40, 0), megabytes("large", 120, 0)
    assert large < small + 12, (small, large)
    assert megabytes("large", 120, 10**9) > large + 24  # all rows are read again and kept
