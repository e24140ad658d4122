"""Where a run puts temporary files, and that they are gone."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import pytest

from distmom.cluster.executors.backends import Cluster, Threads
from distmom.cluster.scratch import Scratch
from distmom.errors import ConfigError, ResourceError
from distmom.lake.files import leftovers as module
from distmom.lake.files.leftovers import make_folder, remove_folder


@pytest.fixture(autouse=True)
def no_folder_of_dask() -> Iterator[None]:
    with dask.config.set({"temporary-directory": None}):
        yield


def test_the_folder_lives_as_long_as_the_run(tmp_path: Path) -> None:
    with Threads(1, scratch=tmp_path).open() as executor:
        assert executor.here and executor.scratch.reaches_all and list(tmp_path.iterdir()) == []
        folder = executor.scratch.folder()
        assert folder.parent == tmp_path and executor.scratch.folder() == folder
        (folder / "rows").touch()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(KeyboardInterrupt), Threads(1, scratch=tmp_path).open() as executor:
        executor.scratch.folder()
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_who_names_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TMPDIR", raising=False)
    system = Scratch().parent
    monkeypatch.setenv("TMPDIR", str(tmp_path / "env"))
    assert Scratch().parent == tmp_path / "env" != system
    with dask.config.set({"temporary-directory": tmp_path / "dask"}):
        assert Scratch().parent == tmp_path / "dask"
        assert Scratch(tmp_path).parent == tmp_path


def test_folders_that_will_not_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    for wrong in ("none", "file"):
        with pytest.raises(ConfigError, match=r"scratch: .* is not a folder; create it"):
            Scratch(tmp_path / wrong)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "none"))
    assert Scratch().free_bytes() == 0
    with pytest.raises(ResourceError, match="no temporary folder can be made there"):
        Scratch().folder()
    Scratch(tmp_path).check_room(1)
    with pytest.raises(ResourceError, match=r"TB of disk, .* name another folder as scratch"):
        Scratch(tmp_path).check_room(10**18)


def test_workers_elsewhere_see_a_folder_that_is_named(tmp_path: Path) -> None:
    for scratch, reaches in ((Scratch(), False), (Scratch(tmp_path), True)):
        scratch.shared = False
        assert scratch.reaches_all == reaches


def test_a_folder_that_is_written_to_meanwhile_is_removed_at_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    removed = []

    def empty(folder: Path) -> None:
        removed.append(folder)
        if len(removed) == 2:
            folder.rmdir()

    monkeypatch.setattr(module, "PAUSES", (0.0, 0.0, 0.0))
    monkeypatch.setattr(module, "_empty", empty)
    remove_folder(make_folder(tmp_path, ".rows-"))
    assert len(removed) == 2 and not caplog.records
    with caplog.at_level(logging.WARNING):
        remove_folder(make_folder(tmp_path, ".rows-"))
    assert len(removed) == 5 and "could not be removed" in caplog.text


@pytest.mark.cluster
def test_workers_of_this_machine_are_here(inproc_client: Any) -> None:
    with Cluster(inproc_client).open() as executor:
        assert executor.here and executor.scratch.reaches_all
