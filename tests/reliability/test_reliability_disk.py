"""Disks that are full or that nobody may write to: one line that says what to do, and no partial file."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from jobs import JOBS, Meanwhile, one_file_a_unit
from programs import distmom

import distmom as dm

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts file systems; CI is root")


@contextmanager
def mounted(folder: Path, megabytes: int) -> Iterator[Path]:
    """A disk of its own, gone at the end."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with mounted(tmp_path / "disk", 16) as folder:
        yield folder


@pytest.fixture(scope="module")
def read_only(lake: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A disk with the lake to which nobody may write."""
    with ExitStack() as ending:
        folder = ending.enter_context(mounted(tmp_path_factory.mktemp("read-only") / "disk", 16))
        shutil.copytree(lake, folder / "lake")
        subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
        yield folder


def fill(folder: Path, leaving: int = 0) -> None:
    """As somebody else's job would, meanwhile."""
    with suppress(OSError), (folder / "filler").open("wb", buffering=0) as filler:
        while filler.write(bytes(1 << 16)):
            pass
    with (folder / "filler").open("rb+") as filler:
        filler.truncate(max(0, filler.seek(0, os.SEEK_END) - leaving))


def test_the_disk_fills_up_while_rows_are_sorted_on_it(
    lake: Path, disk: Path, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_file_a_unit(monkeypatch)
    Meanwhile(monkeypatch, lambda _: fill(disk) if any(disk.iterdir()) else None)
    with pytest.raises(dm.ResourceError, match=r"No space left on device.*; free (some|the)") as caught:
        JOBS["pairs"](lake, disk, executor=client)
    assert "\n" not in str(caught.value)
    assert [path.name for path in disk.iterdir()] == ["filler"]


@pytest.mark.parametrize("option", ["--output", "--state"])
def test_the_disk_of_an_output_is_full(option: str, lake: Path, disk: Path) -> None:
    fill(disk, leaving=4096)
    # 300 groups: neither fits into 4 kB
    words = ("mean", lake, "-c", "x", "-c", "a", "-c", "b", "-c", "y", "--blocks", 101)
    code, out, err = distmom(*words, option, disk / "result.html")
    assert (code, out if option == "--state" else "") == (6, ""), err
    assert "could not be written: No space left on device" in err and err.count("\n") == 1
    assert [path.name for path in disk.iterdir()] == ["filler"]


def test_a_lake_is_read_where_nothing_can_be_written(lake: Path, read_only: Path) -> None:
    """Neither beside the data, nor at home, nor in the folder for temporary files."""
    nowhere = {"HOME": str(read_only), "TMPDIR": str(read_only), "XDG_CACHE_HOME": str(read_only)}
    for where in ((), ("--workers", 1)):
        code, out, err = distmom("mean", read_only / "lake", "-c", "a", "--json", *where, **nowhere)
        assert code == 0, err
        assert json.loads(out)["results"] == dm.Results.of(dm.mean(lake, "a", rng=0)).to_dict()["results"]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("mean", "lake", "-c", "x", "--output", "result.html"), 2),
        (("mean", "lake", "-c", "x", "--state", "result.state"), 2),
    ],
    ids=["output", "state"],
)
def test_a_folder_that_nobody_may_write_to(words: tuple[str, ...], code: int, read_only: Path) -> None:
    places = [read_only / word if word == "lake" or "result" in word else word for word in words]
    found = distmom(*places)
    assert found[:2] == (code, "") and found[2].count("\n") == 1, found[2]
    assert "choose another" in found[2]
