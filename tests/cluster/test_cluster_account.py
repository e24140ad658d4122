"""What a process holds is measured against its limit while a run goes on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from distmom.cluster.account import Account, resident_bytes
from distmom.cluster.memory import PLAIN_BYTES, give_back
from distmom.errors import ResourceError

pytestmark = pytest.mark.skipif(
    resident_bytes() is None, reason="needs a system that tells what a process holds"
)


def test_what_a_run_adds_is_held_against_its_limit() -> None:
    give_back()  # what others have freed
    before = resident_bytes()
    assert before is not None
    account = Account(min(before, PLAIN_BYTES) + 80_000_000)
    account.check()
    more = np.ones(25_000_000)  # 200 MB
    with pytest.raises(ResourceError, match="is not done; use fewer threads") as met:
        account.check()
    assert "\n" not in str(met.value)
    del more
    account.check()


def test_without_a_limit_nothing_is_refused() -> None:
    more = np.ones(12_500_000)
    Account(None).check()
    assert more.size


JOB = """
import sys
import distmom as dm
from distmom.estimators.mean import question
from distmom.errors import ResourceError
question.most_groups = lambda *args: 10**9  # a projection that is wrong
try:
    print(len(dm.mean(sys.argv[1], "x", by="g", rng=0, executor=dm.Threads(2, memory_limit="500MB"))))
except ResourceError as error:
    print(error)
"""


@pytest.mark.slow
def test_a_run_that_grows_beyond_its_limit_ends_with_one_line(tmp_path: Path) -> None:
    for i in range(12):
        g = np.random.default_rng(i)
        table = pa.table({"g": g.integers(0, 20_000, 50_000), "x": g.normal(size=50_000)})
        pq.write_table(table, tmp_path / f"{i}.parquet")
    command = [sys.executable, "-W", "ignore", "-c", JOB, str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    (line,) = run.stdout.splitlines()
    assert line.startswith("memory_limit: the run holds ")


LOADED = """
import sys
from distmom.reductions.block_means import load_kernels
load_kernels()
import distmom as dm
print(dm.mean(sys.argv[1], "x", rng=0, executor=dm.Threads(1, memory_limit="200MB")).n_used)
"""


@pytest.mark.slow
def test_what_was_loaded_before_does_not_count(tmp_path: Path) -> None:
    """Numba alone takes more than what is left: the run does not compile, and is not projected with it."""
    pq.write_table(pa.table({"x": np.arange(1_000.0)}), tmp_path / "a.parquet")
    done = subprocess.run(
        [sys.executable, "-c", LOADED, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "1000\n"
