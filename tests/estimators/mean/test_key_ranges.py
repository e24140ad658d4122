"""More groups than fit in memory: the lake is read once for each range of keys, to the same bits."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from peak_memory import PRINT_PEAK

import distmom as dm
from distmom.cluster.executors.threads import ThreadExecutor
from distmom.errors import ResourceError
from distmom.estimators.mean import answer, question
from distmom.estimators.mean.run import ranges
from distmom.memory import Held, Memory
from distmom.numerics.blocks.sparse_cells import ROWS_TOGETHER
from distmom.numerics.hash_ranges import ALL_WORDS
from distmom.passes import key_ranges
from distmom.reductions.block_means import BlockMeans
from distmom.reductions.keyed_pools import KEY_BYTES
from distmom.reductions.layouts import RandomLayout

ROOM = key_ranges.Room(100_000.0, 300_000.0)


def lake_of(folder: Path, n_files: int, n_rows: int, n_groups: int) -> Path:
    """Rows of groups by two columns, one with nulls; nulls, NaN, infinities, a code, a group far away."""
    folder.mkdir()
    for i in range(n_files):
        g = np.random.default_rng(i)
        a, b = g.integers(0, n_groups, n_rows), g.choice(["north", "south", "", None], n_rows)
        x = g.lognormal(1.0, 1.0, n_rows) + 1e6 * (a == 3)
        x[g.random(n_rows) < 0.02] = -9999.0
        x[g.integers(0, n_rows, 3)] = [np.nan, np.inf, np.nan]
        y = pa.array(g.normal(size=n_rows), mask=g.random(n_rows) < 0.05)
        w = g.uniform(0.0, 2.0, n_rows) * (g.random(n_rows) < 0.9)
        table = pa.table({"a": a, "b": pa.array(b.tolist(), pa.string()), "x": x, "y": y, "w": w})
        pq.write_table(table, folder / f"{i:02}.parquet", row_group_size=n_rows // 2)
    return folder


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve files: cells of whole files are heard."""
    return lake_of(tmp_path_factory.mktemp("lakes") / "many", 12, 3_000, 40)


def bits(results: dm.Results) -> list[list[tuple[str, Any]]]:
    """All that results say but of the run."""
    told = [{k: v for k, v in vars(r).items() if k not in ("run", "data")} for r in results]
    return [[(k, v.tobytes() if isinstance(v, np.ndarray) else repr(v)) for k, v in t.items()] for t in told]


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """So few groups fit that several ranges are needed; the states that passes left."""
    passes: list[Any] = []
    run = ranges.run_range

    def counted(*args: Any) -> Any:
        found = run(*args)
        passes.append(found[0])
        return found

    monkeypatch.setattr(ranges, "run_range", counted)
    monkeypatch.setattr(question, "most_groups", lambda *args: 7)
    monkeypatch.setattr(ranges, "room_for_groups", lambda *args: ROOM)
    return passes


CALLS: list[dict[str, Any]] = [
    {"column": "x", "by": ["a", "b"]},
    {"column": ["x", "y"], "by": "a", "where": "y < 1"},
    {"column": "x", "by": "b", "weights": "w"},
    {"column": ["x", "y"], "by": ["b", "a"], "joint": True},
    {"column": "y", "by": "a", "blocks": 5},
    {"column": "x", "by": "a", "blocks": dm.StoredBlocks()},
]


@pytest.mark.parametrize("call", [CALLS[0], *(pytest.param(c, marks=pytest.mark.slow) for c in CALLS[1:])])
def test_the_bits_are_those_of_one_pass(
    lake: Path, few: list[Any], call: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = bits(dm.mean(lake, rng=1, executor=dm.Threads(2), **call))
    assert all(state.of_groups <= ROOM.merged for state in few)
    assert len(few) >= (2 if call["by"] != "b" else 0) and (not few or few[-1].high == ALL_WORDS)
    monkeypatch.setattr(question, "most_groups", lambda *args: 10**6)
    few.clear()
    assert found == bits(dm.mean(lake, rng=1, executor=dm.Threads(2), **call))
    assert not few


def test_rows_far_out_are_screened_out_in_all_ranges(lake: Path, few: list[Any]) -> None:
    found = dm.mean(lake, "x", by="a", rng=1, executor=dm.Threads(2))
    assert len(few) >= 4
    assert [r.group["a"] for r in found if r.group] == list(range(40))
    assert sum(r.far_rows is not None and r.far_rows.values[0][0] == -9999.0 for r in found) >= 35


@pytest.mark.slow
def test_files_are_cut_and_batches_small(lake: Path, few: list[Any]) -> None:
    one = bits(dm.mean(lake, "x", by=["a", "b"], rng=1, executor=dm.Threads(1)))
    small = dm.scan(lake, batch_rows=700)
    assert one == bits(dm.mean(small, "x", by=["a", "b"], rng=1, executor=dm.Threads(2)))


def test_too_many_results_end_with_one_line(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(question, "most_groups", lambda *args: 7)
    monkeypatch.setattr(key_ranges, "WITH_SECOND", 10**4)
    monkeypatch.setattr(answer, "EVERY_BYTES", 30_000_000)
    with pytest.raises(ResourceError, match="there are more groups; group by fewer values") as met:
        dm.mean(lake, "x", by=["a", "b"], rng=1, executor=dm.Threads(1, memory_limit="400MB"))
    assert "\n" not in str(met.value)


JOB = """
import sys
import distmom as dm
found = dm.mean(sys.argv[1], "x", by="g", rng=0, executor=dm.Threads(2, memory_limit=sys.argv[2]))
print(len(found), hash(tuple(r.estimate for r in found)))
"""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_twenty_thousand_groups_keep_to_their_limit_whatever_the_files(tmp_path: Path) -> None:
    peaks = []
    for n_files in (4, 16):
        folder = tmp_path / str(n_files)
        folder.mkdir()
        for i in range(n_files):
            g = np.random.default_rng(i)
            table = pa.table({"g": g.integers(0, 20_000, 200_000), "x": g.normal(size=200_000)})
            pq.write_table(table, folder / f"{i:02}.parquet")
        for limit in ("600MB", "16GB")[: 2 if n_files == 4 else 1]:
            command = [sys.executable, "-W", "ignore", "-c", JOB + PRINT_PEAK, str(folder), limit]
            run = subprocess.run(command, capture_output=True, text=True, timeout=300)
            assert run.returncode == 0, run.stderr
            n, estimates, peak = (int(word) for word in run.stdout.split())
            assert n == 20_000
            peaks.append((n_files, limit, estimates, peak))
    assert peaks[0][2] == peaks[1][2]
    assert peaks[0][3] < 600 < peaks[1][3]
    assert peaks[2][3] < 600


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_table_of_very_many_groups_is_written_within_the_limit(tmp_path: Path) -> None:
    """The table alone took 0.25 GB beside all else: 0.62 GB of this limit, and 0.85 GB for 400,000 groups."""
    lake, output = tmp_path / "lake", tmp_path / "means.parquet"
    lake.mkdir()
    for i in range(2):
        g = np.random.default_rng(i)
        table = pa.table({"g": g.integers(0, 200_000, 600_000), "x": g.normal(size=600_000)})
        pq.write_table(table, lake / f"{i}.parquet")
    begin = "import sys\nfrom distmom.cli.program import program\n"
    program = f"{begin}assert program.run(sys.argv[1:]) == 0\n{PRINT_PEAK}"
    flags = ["mean", lake, "-c", "x", "--by", "g", "--memory-limit", "500MB", "--output", output, "--quiet"]
    command = [sys.executable, "-W", "ignore", "-c", program, *map(str, flags)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=500)
    assert run.returncode == 0, run.stderr
    assert pq.ParquetFile(output).metadata.num_rows > 190_000
    assert int(run.stdout.splitlines()[-1]) < 500


def test_without_a_limit_groups_take_a_part_of_the_memory() -> None:
    with dm.Threads(1).open() as free, dm.Threads(1, memory_limit=free.memory).open() as limited:
        assert key_ranges.memory_for(limited) == limited.memory
        assert key_ranges.memory_for(free) == free.memory / 4


def test_what_groups_take_leaves_a_part_of_the_limit() -> None:
    """All of it but a tenth of what groups get left 500 of 500 MB where libraries take more pages."""
    held, limit = 270e6, 500_000_000
    with dm.Threads(2, memory_limit=limit).open() as executor:
        assert 0.8 < (key_ranges.free_for_groups(executor, held) + held) / limit < 0.88
    with dm.Threads(2, memory_limit=300_000_000).open() as executor:
        assert key_ranges.free_for_groups(executor, held) > 10e6  # a small limit is not refused


def test_little_room_is_used_before_a_run_is_refused() -> None:
    """A run was refused where one more range would have done."""
    means = BlockMeans(("x",), RandomLayout(0, 64), 0, 0, 16, grouped=True)
    least = key_ranges.LEAST * (means.state_bytes() + KEY_BYTES)
    place = ThreadExecutor(1, 100_000_000)
    results = 100_000_000 - ROWS_TOGETHER * key_ranges.ROW_BYTES
    room = key_ranges.room_for_groups(place, Memory(), means, 42, results - 1.2 * least)
    assert room.unit == room.merged == least / key_ranges.AT_WORK


def test_results_are_not_blamed_for_what_the_rest_takes() -> None:
    """A thousand groups of texts were refused, because of 41 results of 13 kB: the rows took the limit."""
    means = BlockMeans(("x",), RandomLayout(0, 64), 0, 0, 16, grouped=True)
    least = key_ranges.LEAST * (means.state_bytes() + KEY_BYTES)
    rows = ROWS_TOGETHER * key_ranges.ROW_BYTES
    memory = Memory((Held("the rest", 100_000_000 - rows - 0.5 * least, each=False),))
    room = key_ranges.room_for_groups(ThreadExecutor(1, 100_000_000), memory, means, 41, 13_000.0)
    assert room.unit == room.merged == least / key_ranges.AT_WORK


def test_states_of_workers_meet_where_no_unit_is_at_work() -> None:
    """Twice as many passes over the lake were needed on workers as in a process of their size."""
    means = BlockMeans(("x",), RandomLayout(0, 64), 0, 0, 16, grouped=True)
    here, place = ThreadExecutor(1, 1_000_000_000), ThreadExecutor(1, 1_000_000_000)
    place.far = True
    near, far = (key_ranges.room_for_groups(p, Memory(), means, 0, 0.0) for p in (here, place))
    assert far.unit == near.unit and far.merged > 1.6 * near.merged


@pytest.mark.parametrize("far", [False, True])
def test_results_take_no_room_of_workers(far: bool) -> None:
    """They lie in the process that asks: on workers, too, each pass had left less room for the next one."""

    place = ThreadExecutor(1, 1_000_000_000)
    place.far = far
    means = BlockMeans(("x",), RandomLayout(0, 64), 0, 0, 16, grouped=True)
    first = key_ranges.room_for_groups(place, Memory(), means, 0, 0.0)
    later = key_ranges.room_for_groups(place, Memory(), means, 10**6, 400e6)
    assert (later == first) is far and later.merged <= first.merged
    with pytest.raises(ResourceError, match="the results of 1,000,000 groups take"):
        key_ranges.room_for_groups(place, Memory(), means, 10**6, 1e9)


@pytest.mark.slow
@pytest.mark.cluster
@pytest.mark.xdist_group("workers")
def test_workers_give_the_bits_of_threads(lake: Path, few: list[Any]) -> None:
    here = bits(dm.mean(lake, "x", by=["a", "b"], rng=1, executor=dm.Threads(2)))
    assert here == bits(dm.mean(lake, "x", by=["a", "b"], rng=1, executor=dm.Processes(2)))
