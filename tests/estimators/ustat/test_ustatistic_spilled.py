"""Blocks regrouped by way of the disk have the bits of those regrouped by reading again; nothing stays."""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mean_lakes import Interrupts, SomeWorkers, cut_work, dirty_lake, same, write
from small_leaves import patch_leaves

import distmom as dm
from distmom.cluster.scratch import Scratch
from distmom.errors import DataError, ResourceError
from distmom.estimators.mean import plan as mean_plan
from distmom.lake.saved.spill import SpillWriter
from distmom.passes import block_rows, regrouping

VARIANTS: dict[str, dict[str, Any]] = {
    "grouped, two keys and a filter": {"by": ["name", "key"], "where": "u > 0.1"},
    "columns": {"column": ["x", "y"], "by": "name"},
    "pairs of columns": {"column": ["x", "y"], "kernel": "kendall", "blocks": 9},
    "no fast form": {"kernel": dm.kernels.kernel(lambda a, b: abs(a - b) > 1.0), "blocks": 9},
    "NaN kept": {"nan": "keep", "blocks": 101},
    "stored, grouped": {"blocks": dm.StoredBlocks(), "by": "key"},
    "chunks": {"blocks": dm.RandomBlocks(chunk_rows=7)},
    "units, grouped": {"blocks": dm.UnitBlocks("u", 3), "by": "key"},
    "files": {"blocks": dm.FileBlocks()},
    "weights": {"column": ["y", "u"], "weights": "w", "blocks": 9},
    "partitions": {"blocks": dm.RandomBlocks(9, repeats=3)},
    "disjoint pairs": {"pairs": "disjoint", "kernel": "distance", "column": ["x", "y"], "blocks": 9},
}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return dirty_lake(tmp_path_factory.mktemp("lake"), rows=60)


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    (tmp_path / "scratch").mkdir()
    return tmp_path / "scratch"


@pytest.fixture
def by_disk(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let rows go by way of the disk; the numbers of units that did."""
    return patch_disk(monkeypatch)


def patch_disk(patch: pytest.MonkeyPatch, room: int = 500, range_bytes: int = 2_000) -> list[int]:
    for name, value in {"MOST_READS": 0, "LEAST_BYTES": 0, "DISK_BYTES": range_bytes}.items():
        patch.setattr(regrouping, name, value)
    units: list[int] = []
    sort_rows = block_rows.sort_rows

    def counted(work: block_rows.SortUnits, mine: Sequence[Any], *more: Any) -> Any:
        units.append(len(mine))
        return sort_rows(replace(work, room=room), mine, *more)

    patch.setattr("distmom.passes.block_rows.sort_rows", counted)
    return units


def run(lake: Any, options: dict[str, Any], executor: Any = None, **reading: Any) -> Any:
    given = {"column": "x", "kernel": "gini", **options}
    data = dm.scan(lake, nan=given.pop("nan", "omit"), **reading)
    return dm.ustatistic(data, rng=7, executor=executor or dm.Threads(1), **given)


@pytest.mark.parametrize("options", VARIANTS.values(), ids=VARIANTS)
@pytest.mark.one_in(9)
def test_same_bits_as_by_reading_again(
    lake: Path, options: dict[str, Any], scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = run(lake, options)
    cut_work(monkeypatch, max_files=2)
    units = patch_disk(monkeypatch)
    assert same(right, run(lake, options, dm.Threads(3, scratch=scratch), batch_rows=33))
    assert units == [7] and list(scratch.iterdir()) == []


def test_same_bits_compiled(lake: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = run(lake, VARIANTS["weights"])
    monkeypatch.setattr(mean_plan, "SMALL_BYTES", -1)
    patch_disk(monkeypatch)
    assert same(right, run(lake, VARIANTS["weights"], dm.Threads(2, scratch=scratch), batch_rows=50))


def test_same_bits_from_parts_of_files(lake: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    patch_leaves(monkeypatch)
    for name in ("weights", "stored, grouped"):
        right = run(lake, VARIANTS[name])
        with monkeypatch.context() as patch:
            patch.setattr(mean_plan, "LARGE_FILE", 0)
            patch.setattr(mean_plan, "SHARES", 1_000_000)
            cut_work(patch, unit_bytes=2_000, max_files=4)
            units = patch_disk(patch)
            assert same(right, run(lake, VARIANTS[name], dm.Threads(2, scratch=scratch), batch_rows=50))
            assert units[0] > 9


@pytest.mark.slow
def test_two_samples(lake: Path, tmp_path: Path, by_disk: list[int], scratch: Path) -> None:
    both = [lake, dirty_lake(tmp_path / "other", seed=9, rows=80)]
    small = [dm.scan(one, batch_rows=33) for one in both]
    test = dm.Permutations(99)
    asked: list[tuple[Any, dict[str, Any]]] = [
        (dm.ustatistic, {"kernel": "energy", "column": "y", "blocks": 9}),
        (dm.compare, {"column": ["x", "y"], "statistics": ["auc", "energy"], "test": test}),
    ]
    for function, options in asked:
        found = function(small, **options, rng=1, executor=dm.Threads(2, scratch=scratch))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(regrouping, "MOST_READS", 10**9)
            assert same(function(both, **options, rng=1, executor=dm.Threads(1)), found)
    assert len(by_disk) == 2 and list(scratch.iterdir()) == []


def test_a_tournament_regroups_the_rows_of_each_part(
    lake: Path, by_disk: list[int], scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def play(data: Any, place: dm.Threads) -> dm.TournamentResult:
        return dm.tournament(data, ["u", "key"], "y", loss="ranking", blocks=9, rng=1, executor=place)

    found = play(dm.scan(lake, batch_rows=33), dm.Threads(2, scratch=scratch))
    assert len(by_disk) >= 2 and list(scratch.iterdir()) == []
    monkeypatch.setattr(regrouping, "MOST_READS", 10**9)
    assert found == play(lake, dm.Threads(1))


def test_files_that_were_left_out_stay_out(lake: Path, by_disk: list[int], tmp_path: Path) -> None:
    bad = dirty_lake(tmp_path / "bad", rows=60)
    victim = bad / "part=2" / "005.parquet"
    victim.write_bytes(victim.read_bytes()[:-20])
    for design in (dm.RandomBlocks(9), dm.StoredBlocks(9)):
        found = run(bad, {"blocks": design}, dm.Threads(2), on_bad_file="skip")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(regrouping, "MOST_READS", 10**9)
            assert same(run(bad, {"blocks": design}, on_bad_file="skip"), found)
        assert [skipped["file"] for skipped in found.data["skipped"]] == ["part=2/005.parquet"]
    assert len(by_disk) == 2


@settings(max_examples=12)
@given(
    sizes=st.lists(st.integers(0, 90), min_size=1, max_size=5).filter(lambda sizes: sum(sizes) > 1),
    n_blocks=st.integers(1, 12),
    room=st.integers(1, 3_000),
    range_bytes=st.integers(1, 1_000),
    batch_rows=st.integers(1, 50),
)
@pytest.mark.slow
def test_any_cut_has_the_bits_of_one_range(
    sizes: list[int],
    n_blocks: int,
    room: int,
    range_bytes: int,
    batch_rows: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("cuts")
    for i, n in enumerate(sizes):
        write(folder / f"{i}.parquet", {"x": np.random.default_rng(i).normal(size=n)})
    right = run(folder, {"blocks": n_blocks})
    with pytest.MonkeyPatch.context() as patch:
        cut_work(patch, max_files=1)
        patch.setattr(regrouping, "RANGE_BYTES", range_bytes)
        again = run(folder, {"blocks": n_blocks}, batch_rows=batch_rows)
        units = patch_disk(patch, room, range_bytes)
        found = run(folder, {"blocks": n_blocks}, dm.Threads(2), batch_rows=batch_rows)
    assert same(right, again) and same(right, found) and units == [len(sizes)]


def test_the_plan_says_when_and_where(
    lake: Path, scratch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def plan(place: dm.Threads) -> tuple[int, str | None]:
        found = dm.explain(dm.ustatistic, lake, "x", kernel="gini", blocks=9, executor=place)
        return found["passes"], found["sorted_on_disk"]

    assert plan(dm.Threads(1)) == (2, None)
    monkeypatch.setattr(regrouping, "RANGE_BYTES", 3_000)
    assert plan(dm.Threads(1)) == (10, None)  # so few bytes are read again
    monkeypatch.setattr(regrouping, "LEAST_BYTES", 0)
    rows = dm.explain(dm.ustatistic, lake, "x", kernel="gini", blocks=9)["n_rows"]
    passes, told = plan(dm.Threads(1, scratch=scratch))
    assert passes == 2 and told is not None and told.endswith(f" kB in {scratch}")
    assert 10 * rows < 1_000 * float(told.split()[0]) < 10 * rows + 50_000
    with monkeypatch.context() as patch:
        patch.setattr(Scratch, "reaches_all", False)
        assert plan(dm.Threads(1)) == (10, "no: name a folder that all workers share as scratch")
    small = dm.Threads(1, memory_limit="300MB")
    assert plan(small) == (10, "no: there is not enough memory to sort rows")
    monkeypatch.setattr(Scratch, "free_bytes", lambda _: 100)
    passes, told = plan(dm.Threads(1))
    assert passes == 10 and told is not None and told.endswith("kB have no room; name a folder as scratch")
    named = dm.Threads(1, scratch=scratch)
    for call in (lambda: run(lake, {"blocks": 9}, named), lambda: plan(named)):
        with pytest.raises(ResourceError, match=r"scratch: .* of disk, but .* has 100 B free"):
            call()
    assert list(scratch.iterdir()) == []


def test_data_in_memory_stays_there(by_disk: list[int]) -> None:
    run({"x": np.arange(1_000.0)}, {})
    assert by_disk == []


@pytest.mark.parametrize("after", [5, 7, 11], ids=["begun", "sorted", "read"])
def test_an_interrupt_leaves_nothing(
    after: int, lake: Path, scratch: Path, by_disk: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    cut_work(monkeypatch, max_files=8)  # two units survey, two count, two sort, some evaluate
    with pytest.raises(KeyboardInterrupt), dm.options(progress=Interrupts(after)):
        run(lake, {"blocks": 101}, dm.Threads(2, scratch=scratch))
    assert len(by_disk) == 1 and list(scratch.iterdir()) == []


def test_failures_are_one_line_and_leave_nothing(
    lake: Path, scratch: Path, by_disk: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(SpillWriter, "_flush", full)
        with pytest.raises(ResourceError, match=r"No space left on device, .* another folder as scratch$"):
            run(lake, {}, dm.Threads(1, scratch=scratch))
    with monkeypatch.context() as patch:  # as workers that do not share the folder see it
        patch.setattr("distmom.passes.block_rows.make_folder", lambda *_: scratch / "elsewhere")
        with pytest.raises(ResourceError, match=r"No such file or directory; name a folder .* share"):
            run(lake, {}, dm.Threads(1, scratch=scratch))
    bucket_batches = block_rows.bucket_batches
    with monkeypatch.context() as patch:  # the lake changes between the passes
        patch.setattr(block_rows, "bucket_batches", lambda *a: (b.slice(1) for b in bucket_batches(*a)))
        with pytest.raises(DataError, match="other rows than when they were counted"):
            run(lake, {}, dm.Threads(1, scratch=scratch))
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize("by_tiles", [False, True])
def test_a_block_that_does_not_fit_is_refused(
    by_tiles: bool, lake: Path, scratch: Path, by_disk: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(regrouping, "WORDS", 10**7)  # for each row of the block that is evaluated
    monkeypatch.setattr("distmom.passes.counted.cuts_blocks", lambda *_: by_tiles)
    words = r"the largest range of blocks: projected memory .*; use more blocks, which"
    with pytest.raises(ResourceError, match=words):
        run(lake, {"blocks": 1}, dm.Threads(2, scratch=scratch))
    assert by_disk == [] and list(scratch.iterdir()) == []


@pytest.mark.cluster
@pytest.mark.xdist_group("workers")
def test_same_bits_on_workers(
    lake: Path, client_of: Callable[[int], SomeWorkers], by_disk: list[int], scratch: Path
) -> None:
    found = run(lake, VARIANTS["weights"], dm.Cluster(client_of(2), scratch=scratch))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(regrouping, "MOST_READS", 10**9)
        assert same(run(lake, VARIANTS["weights"]), found)
    assert len(by_disk) == 1 and list(scratch.iterdir()) == []
