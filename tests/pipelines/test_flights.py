"""The demonstration lake, when writing it does not go well."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipelines import flights


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "code", "word"),
    [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")],
)
def test_an_interrupt_ends_with_one_line_and_leaves_nothing_half_written(
    tmp_path: Path, number: int, code: int, word: str
) -> None:
    folder = tmp_path / "demo"
    command = [sys.executable, "-m", "pipelines.flights", str(folder)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 60
        while not list(folder.glob(".clean.*/*/*")):
            assert time.monotonic() < deadline and process.poll() is None
            time.sleep(0.01)
        process.send_signal(number)
        _, errors = process.communicate(timeout=240)
    assert (process.returncode, errors) == (code, f"flights: {word}; nothing half written was left\n")
    assert [p.name for p in folder.iterdir() if p.name != "clean"] == []


def test_the_lake_has_the_permissions_of_new_folders(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        flights.write_lake(flights.flights().slice(0, 1000), tmp_path / "lake")
    finally:
        os.umask(before)
    assert (tmp_path / "lake").stat().st_mode & 0o777 == 0o750


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert flights.main([str(tmp_path / "file")]) == 6
    assert "cannot be written (" in capsys.readouterr().err
