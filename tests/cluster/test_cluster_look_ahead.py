"""Whoever is about to take much asks whether the limit bears it, in every command, on every thread."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from peak_memory import PRINT_COUNTED

from distmom.cluster import Unit
from distmom.cluster.account import Account, resident_bytes
from distmom.cluster.executors.threads import ThreadExecutor
from distmom.cluster.memory import PLAIN_BYTES, give_back
from distmom.cluster.outcome import UnitOutcome
from distmom.cluster.runner import run_units
from distmom.errors import ResourceError
from distmom.lake.source import FileRef
from distmom.memory import WORTH_A_LOOK, look_ahead, watched
from distmom.numerics.samples.group_sample import CELLS_AT_ONCE, GroupSampler
from distmom.numerics.tree import DyadicTree

pytestmark = pytest.mark.skipif(
    resident_bytes() is None, reason="needs a system that tells what a process holds"
)


def test_what_is_about_to_be_taken_counts() -> None:
    give_back()
    before = resident_bytes()
    assert before is not None
    account = Account(min(before, PLAIN_BYTES) + 100_000_000)
    account.check(50_000_000)
    with pytest.raises(ResourceError, match="and needs 150 MB more, together more than the limit") as met:
        account.check(150_000_000)
    assert "\n" not in str(met.value)
    assert Account(None).look is None


def test_merges_ask_before_they_are_made() -> None:
    asked: list[float] = []
    tree = DyadicTree[np.ndarray](2, lambda left, right: left + right)
    with watched(asked.append):
        tree.push(0, 0, np.ones(WORTH_A_LOOK // 8))
        tree.push(0, 1, np.ones(WORTH_A_LOOK // 8))
        look_ahead(WORTH_A_LOOK - 1)  # small things need not ask
    look_ahead(10.0 * WORTH_A_LOOK)  # nobody is there to be asked
    assert asked == [2 * WORTH_A_LOOK]


def test_units_end_soon_after_one_had_to_give_up() -> None:
    """Those that were queued began, and held more than was left, beside what the error still held."""
    begun: list[int] = []

    def work(unit: Unit) -> UnitOutcome:
        begun.append(unit.number)
        held = np.ones(1_000)
        raise ResourceError(f"no room beside {held.size} numbers")

    units = [Unit(n, 0, n, (FileRef(f"{n}.parquet", 1, 0),)) for n in range(8)]
    executor = ThreadExecutor(1)
    try:
        with pytest.raises(ResourceError, match="no room") as met:
            run_units(work, units, lambda left, right: left, executor)
    finally:
        executor.close()
    assert begun == [0]
    trace = met.value.__traceback__
    while trace is not None:
        assert "held" not in trace.tb_frame.f_locals
        trace = trace.tb_next


def test_samples_of_groups_are_the_same_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    g = np.random.default_rng(0)
    codes, x = g.integers(0, 50, 4_000), g.normal(size=4_000)
    whole = GroupSampler(16, compiled=False)
    whole.offer(np.uint64(3), 0, codes, x, None, 50)
    one = whole.result(50)
    assert CELLS_AT_ONCE > 50 * 25
    monkeypatch.setattr("distmom.numerics.samples.group_sample.CELLS_AT_ONCE", 100)
    many = whole.result(50)
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(one, many, strict=True))


JOB = """
import sys
import distmom as dm
from distmom.errors import ResourceError
try:
    executor = dm.Threads(2, memory_limit="600MB")
    call = {
        "mean": lambda: dm.mean(sys.argv[1], "x", by="g", passes=1, rng=0, executor=executor),
        "ustat": lambda: dm.ustatistic(sys.argv[1], "x", kernel="gini", by="g", rng=0, executor=executor),
        "difference": lambda: dm.difference(sys.argv[1], "x", by="g", rng=0, executor=executor),
    }[sys.argv[2]]
    print(len(call()))
except ResourceError as error:
    print(error)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "n_groups"), [("mean", 20_000), ("ustat", 10_000), ("ustat", 20_000), ("difference", 1_000)]
)
def test_many_groups_end_in_time(tmp_path: Path, asked: str, n_groups: int) -> None:
    """Means in one pass took 0.96 GB of 0.6 before the run ended, U-statistics 0.94, differences 0.63.

    What one unit takes for a moment between two looks may exceed the limit by a few percent.
    """
    for i in range(4):
        g = np.random.default_rng(i)
        table = pa.table({"g": g.integers(0, n_groups, 250_000), "x": g.lognormal(size=250_000)})
        pq.write_table(table, tmp_path / f"{i}.parquet")
    command = [sys.executable, "-W", "ignore", "-c", JOB + PRINT_COUNTED, str(tmp_path), asked]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    said, peak = run.stdout.splitlines()
    assert said.isdigit() or said.startswith("memory_limit: the run holds ")
    assert int(peak) < 640
