"""Twins begin, kernels go on: when, and with the same bits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from distmom.numerics import twins
from distmom.numerics.blocks.labels import file_key, label_table
from distmom.numerics.blocks.leaf import leaf_moments
from distmom.numerics.readiness import Readiness, alone
from distmom.numerics.samples.pool_sampler import PoolSampler
from distmom.numerics.samples.sample import LeafSampler

SUM = "distmom.numerics.losses.cell_sums_compiled"

COUNT = """
import sys
from numba.core.event import Listener, register
n = []
class Compiled(Listener):
    def on_start(self, event): n.append(event.data["dispatcher"].py_func.__name__)
    def on_end(self, event): pass
register("numba:compile", Compiled())
"""


def run(code: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """In a process that keeps kernels in a folder."""
    env = {**os.environ, "NUMBA_CACHE_DIR": str(folder), **environment}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True)


def test_going_over_amid_the_work_changes_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(0).normal(size=(6, 20_000))
    gone, key, table = x[0] > 1.0, file_key(0, "f"), label_table(0, 45)

    def all_of(switch: int | None) -> list[np.ndarray]:
        ready = Readiness()
        names = {
            "blocks.leaf_compiled.leaf_amid",
            "samples.sample_compiled.offer_leaf",
            "samples.pool_sampler_compiled.hashed_rows",
            "samples.pool_sampler_compiled.draw_rows",
            "samples.pool_compiled.marked",
            "blocks.moments_compiled.merge_few",
        }
        ready._pays = {
            f"distmom.numerics.{name}": 1e18 if switch is None else switch * 20_000 + 1 for name in names
        }
        ready._done = dict.fromkeys(ready._pays, 0)
        monkeypatch.setattr(twins, "READINESS", ready)
        sampler, pool = LeafSampler(64, compiled=True), PoolSampler(2_000, 100, compiled=True)
        merged = leaf_moments(x[0], None, 0, key, table)
        for i, row in enumerate(x):
            hidden = gone if i % 2 else None
            merged = merged.merge(
                leaf_moments(row, hidden, 20_000 * i, key, table, compiled=True), compiled=True
            )
            sampler.offer(key, i, row, hidden)
            pool.offer(key, i, row.size, hidden, (row, row[:0]))
        rows = pool.result().in_order()
        return [*merged, *sampler.result(), rows.keys, rows.values, rows.rows]

    whole = all_of(None)
    for switch in (0, 1, 3):
        for a, b in zip(whole, all_of(switch), strict=True):
            assert a.tobytes() == b.tobytes()


CALL = """
from distmom.numerics.twins import compiled_twin
k = compiled_twin("distmom.numerics.samples.pool")
print(k.ready("marked", {}))
"""


@pytest.mark.slow
def test_short_runs_count_like_a_long_one_until_kernels_are_kept(tmp_path: Path) -> None:
    half = CALL.format(60e6)
    assert run(half, tmp_path).stdout == "False\n"
    name = "distmom.numerics.samples.pool_compiled.marked"
    assert json.loads((tmp_path / "twins.json").read_text()) == {name: 60e6}
    assert run(half, tmp_path).stdout == "True\n"  # and compiles, had it been called
    run("from distmom.numerics.samples.pool import _kernels as k; k.marked", tmp_path)
    assert run(CALL.format(1), tmp_path).stdout == "True\n"
    (tmp_path / "twins.json").write_text("not JSON")
    assert run(CALL.format(1), tmp_path / "other").stdout == "False\n"


@pytest.mark.slow
def test_of_four_processes_that_need_a_kernel_at_once_one_compiles_it(tmp_path: Path) -> None:
    code = (
        COUNT + "from distmom.numerics.linalg.comoments import _kernels as k; k.add_products; print(len(n))"
    )
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    four = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=env) for _ in range(4)]
    counts = sorted(int(one.communicate()[0]) for one in four)
    assert [one.returncode for one in four] == [0] * 4
    assert counts[:3] == [0, 0, 0]
    assert counts[3] > 0


def test_a_fault_while_compiling_is_told_as_it_is() -> None:
    """A full disk, for instance: the lock is given up, and the error goes on."""
    for _ in range(2):
        with pytest.raises(OSError, match="full"), alone():
            raise OSError("full")
