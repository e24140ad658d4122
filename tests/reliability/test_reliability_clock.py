"""Clocks of scheduler and workers that jump while they work."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from clusters import clusters, processes
from jobs import JOBS, Meanwhile, one_file_a_unit, same
from programs import ROOT

import distmom as dm

# beneath every module that a process loads; the monotonic clock is one that nobody sets
CLOCK = """
import os, time
true, file = time.time, os.environ["OFFSET"]

def wrong():
    with open(file) as text:
        return true() + float(text.read() or 0)

time.time = wrong
"""
DAY = 86_400


@pytest.fixture
def offset(tmp_path: Path) -> Path:
    """A file that says by how many seconds the clocks are wrong."""
    (tmp_path / "clock").mkdir()
    (tmp_path / "clock" / "sitecustomize.py").write_text(CLOCK)
    file = tmp_path / "clock" / "offset"
    file.write_text("0")
    return file


@pytest.fixture
def client(offset: Path, tmp_path: Path) -> Iterator[Any]:
    settings = {"OFFSET": str(offset), "PYTHONPATH": f"{offset.parent}:{ROOT}"}
    with clusters(tmp_path / "cluster") as own:
        own.scheduler(**settings)
        own.workers(2, **settings)
        with own.client(2) as client:
            yield client


def test_clocks_are_set_while_they_work(
    lake: Path,
    right: dict[str, tuple[Any, int]],
    client: Any,
    offset: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two seconds back in the second of three rounds, a year ahead in the third."""
    answer, n_units = right["tournament"]
    at = {n_units // 3 + 5: -2, 2 * n_units // 3 + 5: 365 * DAY}
    one_file_a_unit(monkeypatch)
    before = processes(client)
    Meanwhile(monkeypatch, lambda n: offset.write_text(str(at[n])) if n in at else None)
    assert same(JOBS["tournament"](lake, tmp_path, executor=client), answer)
    there = client.run(eval, "__import__('time').time()").values()
    assert len(there) == 2 and min(there) > time.time() + 300 * DAY, "no clock was changed"
    assert processes(client) == before


@pytest.mark.usefixtures("patience")
def test_clocks_are_set_back_by_days(
    lake: Path,
    right: dict[str, tuple[Any, int]],
    client: Any,
    offset: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where a message waits at that moment, Dask waits for as long; nobody else does. Else, the same bits."""
    monkeypatch.setattr("distmom.cluster.executors.client.SILENCE", 3.0)
    one_file_a_unit(monkeypatch)
    Meanwhile(monkeypatch, lambda n: offset.write_text(str(-2 * DAY)) if n == 30 else None)
    (tmp_path / "out").mkdir()
    try:
        found = JOBS["pairs"](lake, tmp_path / "out", executor=client)
    except dm.ResourceError as error:
        assert "did not respond for 3 seconds" in str(error)
        assert not list((tmp_path / "out").iterdir())
    else:
        assert same(found, right["pairs"][0])
