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
    """Blocks of 40,000 rows, four at a time: three times the rows in three times the blocks take no more.

    Four blocks are 1.3 MB, and one is evaluated in 14 words a row, 4.5 MB; all rows would be 7.7 or 23 MB.
    The survey comes first: its sample of 65,536 rows has six words a row, and is there twice, beside the rows
    that come in, where a batch is merged into it. Measured: 10.8 MB with
    960,000 rows and 9.6 MB with 2,880,000.
    """
    g = np.random.default_rng(0)
    for name, n_files in (("small", 16), ("large", 48)):
        for i in range(n_files):
            write(tmp_path / name / f"{i:02}.parquet", {"x": g.normal(size=60_000)})
    monkeypatch.setattr(regrouping, "RANGE_BYTES", 4 * 8 * 40_000)
    monkeypatch.setattr(regrouping, "LEAST_BYTES", 10**12)  # the lake is read again
    peak(tmp_path / "large", 71)  # what is loaded once, compiled kernels among it
    small, large = peak(tmp_path / "small", 23), peak(tmp_path / "large", 71)
    assert large < 1.2 * small + 2**20 and large < 0.75 * 8 * 60_000 * 48
    monkeypatch.setattr(regrouping, "RANGE_BYTES", 10**9)
    assert peak(tmp_path / "large", 71) > 8 * 60_000 * 48  # the negative control: all blocks at once


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
