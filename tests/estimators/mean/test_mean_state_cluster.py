"""The client keeps the state: on a cluster everything is as on threads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flat import flat
from mean_lakes import SomeWorkers, cut_work, same
from state_lakes import flat_lake, interrupted, some_files

import distmom as dm

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("workers")]
Clients = Callable[[int], SomeWorkers]


@pytest.mark.parametrize(
    "options", [{}, {"by": "key"}, {"scheme": "swor", "n_blocks": 7, "block_size": 90}], ids=str
)
@pytest.mark.one_in(3)
def test_begun_on_workers_and_ended_on_threads_and_the_other_way(
    options: dict[str, Any], client_of: Clients, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake, asked = flat_lake(tmp_path / "lake"), {"column": "x", "rng": 7, **options}
    right = flat(dm.mean)(lake, threads=1, **asked)
    cut_work(monkeypatch, max_files=1)
    assert interrupted(lake, tmp_path / "s", 4, client=client_of(2), **asked)
    assert same(right, flat(dm.mean)(lake, state=tmp_path / "s", threads=2, **asked))
    assert interrupted(lake, tmp_path / "t", 4, threads=2, **asked)
    assert same(right, flat(dm.mean)(lake, state=tmp_path / "t", client=client_of(2), **asked))


def test_a_grown_lake_on_a_cluster(client_of: Clients, tmp_path: Path) -> None:
    whole, some = flat_lake(tmp_path / "lake"), tmp_path / "some"
    client = client_of(2)
    for last in (4, 5, 11):
        some_files(whole, some, range(last))
        found = dm.mean(some, "x", rng=7, state=tmp_path / "s", executor=client)
        assert same(found, dm.mean(some, "x", rng=7, executor=dm.Threads(1)))


def test_states_that_are_merged_on_workers_before_they_come(
    client_of: Clients, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Large states come as what several units have become; of a lake that grows, whole nodes alone."""
    from distmom.cluster import queue, runner

    whole, some, asked = (
        flat_lake(tmp_path / "lake", 45),
        tmp_path / "some",
        {"column": "x", "by": "key", "rng": 7},
    )
    kinds: set[type] = set()
    keep = runner._Run.keep

    def seen(run: Any, unit: Any, outcome: Any) -> None:
        kinds.add(type(unit))
        keep(run, unit, outcome)

    monkeypatch.setattr(runner._Run, "keep", seen)
    monkeypatch.setattr(runner, "LARGE_STATE", 1)
    cut_work(monkeypatch, max_files=1)
    client = client_of(2)
    some_files(whole, some, range(37))
    assert interrupted(some, tmp_path / "s", 4, client=client, **asked)
    assert same(
        flat(dm.mean)(some, threads=2, **asked),
        flat(dm.mean)(some, state=tmp_path / "s", client=client, **asked),
    )
    some_files(whole, some, range(45))
    assert same(
        flat(dm.mean)(some, threads=2, **asked),
        flat(dm.mean)(some, state=tmp_path / "s", client=client, **asked),
    )
    assert queue.UnitBatch in kinds
