"""Memory is bounded by the batch: peaks of whole processes, measured in fresh ones."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from mean_lakes import write

import distmom as dm

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

MILLION = 1_000_000
# ru_maxrss would count what the parent held when it forked; the mark in /proc begins with the program
JOB = """
import re, sys
from pathlib import Path
import distmom as dm
from distmom.designs import blocks
found = dm.mean(sys.argv[1], "x", rng=0, executor=dm.Threads(2), **eval(sys.argv[2], vars(blocks)))
first = found if isinstance(found, dm.MeanResult) else found[0]
peak = re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1]
print(first.plain_estimate, first.n_rows, 1024 * int(peak))
"""


def peak(lake: Path, options: dict[str, Any]) -> tuple[float, int, float]:
    """Sample mean, rows, and peak resident bytes of a process that does nothing else."""
    command = [sys.executable, "-c", JOB, str(lake), repr(options)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert run.returncode == 0, run.stderr
    mean, rows, size = run.stdout.split()
    return float(mean), int(rows), float(size)


@pytest.fixture(scope="module")
def lakes(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    """4, 16 and 64 million rows, in files of a million: links to one and the same, which takes no room.

    Every link is a file of its own to the reader, with a path and thus draws of its own.
    """
    folder = tmp_path_factory.mktemp("lakes")
    table = pa.table({"x": np.random.default_rng(0).normal(size=MILLION), "k": np.arange(MILLION) % 100})
    one = write(folder / "one.parquet", table, compression="none", use_dictionary=["k"])
    for n_files in (4, 16, 64):
        (folder / str(n_files)).mkdir()
        for i in range(n_files):
            os.link(one, folder / str(n_files) / f"{i:02}.parquet")
    return tuple(folder / name for name in ("4", "16", "64"))


@pytest.mark.parametrize(
    "options",
    [{}, {"by": "k"}, {"blocks": dm.StoredBlocks()}, {"blocks": dm.SampledBlocks(35, 20_000)}],
    ids=str,
)
def test_peak_is_flat_from_four_to_sixty_four_million_rows(
    lakes: tuple[Path, ...], options: dict[str, Any]
) -> None:
    peak(lakes[0], options)  # kernels are compiled and cached, once
    found = [peak(lake, options) for lake in lakes]
    for (_, fewer, small), (_, more, large) in pairwise(found):
        assert more == 4 * fewer
        assert abs(large - small) <= 0.1 * small, (small / 1e6, large / 1e6)
    assert found[-1][2] < 400e6


@pytest.fixture(scope="module")
def one_row_group(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """20 million rows of four columns, 640 MB once decoded, in a single row group; written piece by piece."""
    path = tmp_path_factory.mktemp("huge") / "a.parquet"
    schema = pa.schema([(f"c{j}", pa.float64()) for j in range(3)] + [("x", pa.float64())])
    n = 20 * MILLION
    columns = {f"c{j}": np.full(n, float(j)) for j in range(3)}
    pq.write_table(pa.table({**columns, "x": np.full(n, 3.0)}, schema=schema), path, row_group_size=n)
    assert pq.read_metadata(path).num_row_groups == 1
    return path


def test_one_huge_row_group_is_read_in_batches(one_row_group: Path, lakes: tuple[Path, ...]) -> None:
    mean, rows, size = peak(one_row_group, {})
    assert (mean, rows) == (3.0, 20 * MILLION)
    assert size < 1.1 * peak(lakes[0], {})[2] + 20e6


@pytest.mark.cluster
@pytest.mark.xdist_group("workers")
def test_one_huge_row_group_on_a_worker_of_400_mb(one_row_group: Path) -> None:
    found = dm.mean(one_row_group, "x", rng=0, executor=dm.Processes(1, memory_limit="400MB"))
    assert found.plain_estimate == 3.0


def test_incompressible_values_in_one_row_group(tmp_path: Path, lakes: tuple[Path, ...]) -> None:
    """The column chunk is as large as the values: it must not be loaded as a whole either."""
    x = np.random.default_rng(0).normal(size=10 * MILLION)
    path = write(
        tmp_path / "a.parquet", {"x": x}, compression="none", use_dictionary=False, row_group_size=x.size
    )
    assert path.stat().st_size > 80e6
    _, rows, size = peak(path, {})
    assert rows == x.size and size < 1.1 * peak(lakes[0], {})[2] + 20e6
