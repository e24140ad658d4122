"""Saved states of groups and of many of them, checkpoints, dry runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mean_lakes import cut_work, dirty_lake, same, write
from state_lakes import N, flat_lake, grown, refused, run, some_files

import distmom as dm
from distmom.state import checkpoint
from distmom.state import state as room


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return flat_lake(tmp_path_factory.mktemp("states") / "lake", N)


def test_groups_of_every_type_of_key(tmp_path: Path) -> None:
    import datetime
    from decimal import Decimal

    import pyarrow as pa

    day = datetime.date(2024, 2, 29)
    moment = datetime.datetime(2024, 2, 29, 1, 2, 3, 456_789)
    keys: dict[str, pa.Array] = {
        "int": pa.array([2**62 + 1, -5, None]),
        "uint": pa.array([2**64 - 1, 0, None], pa.uint64()),
        "float": pa.array([0.1, float("nan"), float("inf")]),
        "decimal": pa.array([Decimal("1.50"), Decimal("-9.99"), None]),
        "bool": pa.array([True, False, None]),
        "text": pa.array(["", "ü\n'", None]),
        "bytes": pa.array([b"\xff\0", b"", None]),
        "date": pa.array([day, datetime.date(1, 1, 1), None]),
        "moment": pa.array([moment, datetime.datetime(1900, 1, 1), None], pa.timestamp("us")),
        "far": pa.array([2**62, -(2**62), None], pa.timestamp("us")),
        "zoned": pa.array([moment, moment, None], pa.timestamp("us", "UTC")),
        "time": pa.array([moment.time(), datetime.time(0), None], pa.time64("us")),
        "span": pa.array([datetime.timedelta(days=-3, microseconds=1), None, None], pa.duration("us")),
        "nulls": pa.nulls(3),
    }
    for number in range(2):
        columns = {name: array.take(pa.array([0, 1, 2] * 8)) for name, array in keys.items()}
        write(tmp_path / "lake" / f"{number}.parquet", {"x": np.arange(24.0), **columns})
    for by in [*([name] for name in keys), ["text", "date", "float"]]:
        state = tmp_path / "-".join(by)
        right = run(tmp_path / "lake", {"by": by})
        assert same(right, run(tmp_path / "lake", {"by": by}, state=state)), by
        again = run(tmp_path / "lake", {"by": by}, state=state)
        assert same(right, again), by
        assert [list(map(type, r.group.values())) for r in again] == [
            list(map(type, r.group.values())) for r in right
        ]


@pytest.mark.slow
def test_many_groups(tmp_path: Path) -> None:
    g = np.random.default_rng(3)
    for i in range(4):
        write(
            tmp_path / "lake" / f"{i}.parquet",
            {"x": g.normal(size=4_000), "key": g.integers(0, 1_500, 4_000)},
        )
    options = {"by": "key", "n_blocks": 5}
    some = some_files(tmp_path / "lake", tmp_path / "some", range(3))
    run(some, options, state=tmp_path / "s")
    some_files(tmp_path / "lake", some, [3])
    assert same(run(some, options, state=tmp_path / "s"), run(some, options))


def test_a_state_larger_than_the_memory_allows(lake: Path, tmp_path: Path) -> None:
    run(lake, {}, state=tmp_path / "s")
    refused(
        dm.ResourceError,
        ["state", "memory_limit"],
        lambda: run(lake, {}, state=tmp_path / "s", memory_limit=300_000),
    )


# --- checkpoints


def test_checkpoints_are_written_while_the_run_goes_on(
    lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = []
    honest = room.write_state

    def note(path: Path, container: Any) -> None:
        honest(path, container)
        saved.append(path.stat().st_size)

    monkeypatch.setattr(room, "write_state", note)
    cut_work(monkeypatch, max_files=1)
    run(lake, {}, state=tmp_path / "quick")
    assert len(saved) == 1
    monkeypatch.setattr(checkpoint, "REST", 0)
    saved.clear()
    run(lake, {}, state=dm.State(tmp_path / "often", checkpoint_seconds=0))
    assert len(saved) == N + 1
    assert (tmp_path / "quick").read_bytes() == (tmp_path / "often").read_bytes()


def test_a_dry_run_tells_what_a_run_would_read(lake: Path, tmp_path: Path) -> None:
    some, state = grown(lake, tmp_path)
    some_files(lake, some, (6, 7))
    before = state.read_bytes()
    plan = dm.explain(dm.mean, some, "x", rng=7, state=state)
    assert (plan["n_files"], plan["n_files_to_read"], state.read_bytes()) == (8, 2, before)
    refused(
        dm.ConfigError,
        ["blocks was RandomBlocks(), now RandomBlocks(5)"],
        lambda: dm.explain(dm.mean, some, "x", rng=7, state=state, blocks=5),
    )


def test_hive_folders_grow_at_their_end(tmp_path: Path) -> None:
    lake = dirty_lake(tmp_path / "lake", 9)
    state = tmp_path / "s"
    run(lake, {"by": "part"}, state=state)
    write(lake / "part=3" / "000.parquet", {"x": np.arange(40.0), "key": np.arange(40)})
    assert same(run(lake, {"by": "part"}, state=state), run(lake, {"by": "part"}))
