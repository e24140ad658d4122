"""Memory of a U-statistic: that of the blocks which are kept at once, whatever the lake."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from mean_lakes import write

import distmom as dm
from distmom.estimators.ustat import ranges


def peak(lake: Path, n_blocks: int) -> int:
    """Bytes of arrays at the worst moment: NumPy tells tracemalloc of its own."""
    tracemalloc.start()
    try:
        dm.ustatistic(lake, "x", kernel="gini", n_blocks=n_blocks, rng=0, threads=1, batch_rows=8_192)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_memory_is_that_of_the_blocks_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 20,000 rows, four at a time: three times the rows in three times the blocks take no more.

    Four blocks are 640 kB, and one is evaluated in 14 words a row, 2.2 MB; all rows would be 1.9 or 5.8 MB.
    Measured: 3.0 and 3.3 MB.
    """
    g = np.random.default_rng(0)
    for name, n_files in (("small", 4), ("large", 12)):
        for i in range(n_files):
            write(tmp_path / name / f"{i:02}.parquet", {"x": g.normal(size=60_000)})
    monkeypatch.setattr(ranges, "RANGE_BYTES", 4 * 8 * 20_000)
    peak(tmp_path / "small", 11)  # what is loaded once
    small, large = peak(tmp_path / "small", 11), peak(tmp_path / "large", 35)
    assert large < 1.2 * small + 2**20 and large < 8 * 60_000 * 12
    monkeypatch.setattr(ranges, "RANGE_BYTES", 10**9)
    assert peak(tmp_path / "large", 35) > 8 * 60_000 * 12  # the negative control: all blocks at once


MEASURE = """
import resource, sys
import distmom as dm
from distmom.estimators.ustat import ranges, regrouping
regrouping.MOST_READS, regrouping.LEAST_BYTES = (0, 0) if sys.argv[3] == "by disk" else (10**9, 0)
regrouping.RANGE_BYTES = regrouping.LEAST_RUN = 1_000_000
options = {"n_blocks": int(sys.argv[2]), "threads": 1, "rng": 0, "scratch": sys.argv[4]}
dm.ustatistic(sys.argv[1], "x", kernel="gini", **options)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


@pytest.mark.slow
def test_memory_by_way_of_the_disk(tmp_path: Path) -> None:
    """Blocks of 100,000 rows, one or so at a time, Arrow's memory included. Reading again keeps all rows."""
    g = np.random.default_rng(0)
    for name, n_files in (("small", 2), ("large", 8)):
        for i in range(n_files):
            write(tmp_path / name / f"{i:02}.parquet", {"x": g.normal(size=10**6)})

    def megabytes(name: str, n_blocks: int, way: str) -> int:
        words = [sys.executable, "-c", MEASURE, tmp_path / name, str(n_blocks), way, tmp_path]
        return int(subprocess.run(words, capture_output=True, check=True, text=True).stdout)

    small, large = (megabytes(*which, "by disk") for which in (("small", 20), ("large", 80)))
    assert large < small + 10, (small, large)
    assert megabytes("large", 80, "again") > large + 20
