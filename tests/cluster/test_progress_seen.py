"""What a call shows of itself that nobody asked: on a terminal, in a notebook, elsewhere."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import distmom as dm
from distmom.cluster.progress import LateProgress
from distmom.estimators.session import progress_of_session


class Told:
    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def begin(self, n_units: int, n_bytes: int) -> None:
        self.calls.append(("begin", n_units, n_bytes))

    def advance(self, n_rows: int, n_bytes: int) -> None:
        self.calls.append(("advance", n_rows, n_bytes))

    def end(self) -> None:
        self.calls.append(("end",))


def test_a_short_call_shows_nothing_and_a_long_one_all_that_was_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, told = [100.0], Told()
    monkeypatch.setattr("distmom.cluster.progress.monotonic", lambda: clock[0])
    late = LateProgress(told, 2.0)
    late.begin(1, 10)
    late.advance(5, 10)
    late.end()
    assert told.calls == []
    late.begin(3, 30)  # the second round of the same call
    late.advance(5, 10)
    clock[0] += 2.0
    late.advance(6, 10)
    late.advance(7, 10)
    late.end()
    assert told.calls == [("begin", 3, 30), ("advance", 11, 20), ("advance", 7, 10), ("end",)]


def test_nothing_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert progress_of_session() is None
    with dm.options(progress=False):
        assert progress_of_session() is None


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("seen")
    for i in range(8):
        values = np.random.default_rng(i).normal(size=20_000)
        pq.write_table(pa.table({"x": values}), folder / f"{i}.parquet")
    return folder


SCRIPT = """
import distmom as dm
from distmom.cluster import progress
progress.LATE_SECONDS = {after}
with dm.options({options}):
    print(dm.mean({lake!r}, "x", rng=0).n_rows)
"""


@pytest.mark.parametrize(
    ("after", "options", "seen"), [(0.0, "", True), (60.0, "", False), (0.0, "progress=False", False)]
)
def test_a_script_on_a_terminal(lake: Path, after: float, options: str, seen: bool) -> None:
    ours, theirs = pty.openpty()
    try:
        script = SCRIPT.format(after=after, options=options, lake=str(lake))
        done = subprocess.run(
            [sys.executable, "-c", script],
            stderr=theirs,
            stdout=subprocess.PIPE,
            timeout=300,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "120"},
        )
        os.close(theirs)
        told = b"".join(_until_closed(ours)).decode()
    finally:
        os.close(ours)
    assert (done.returncode, done.stdout) == (0, b"160000\n")
    assert ("reading" in told and "160,000 rows" in told) == seen
    assert seen or not told


def _until_closed(terminal: int) -> Iterator[bytes]:
    while True:
        try:
            found = os.read(terminal, 65536)
        except OSError:  # the other side is closed
            return
        if not found:
            return
        yield found


@pytest.mark.slow
def test_a_cell_of_a_real_notebook(lake: Path) -> None:
    """A kernel of Jupyter displays a bar, moves it, and takes it away; the result comes as HTML."""
    from jupyter_client.manager import start_new_kernel

    script = f"""
import distmom as dm
from distmom.cluster import notebook
notebook.DRAW_SECONDS = 0.0
dm.options(progress=True)
dm.mean({str(lake)!r}, "x", rng=0)
"""
    manager, client = start_new_kernel(kernel_name="python3")
    told: list[dict[str, Any]] = []
    try:
        reply = client.execute_interactive(script, timeout=300, output_hook=told.append)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    assert reply["content"]["status"] == "ok"
    shown = [message for message in told if "data" in message["content"]]
    kinds = [message["msg_type"] for message in shown]
    html = [message["content"]["data"].get("text/html", "") for message in shown]
    bars = [text for text in html if "<progress" in text]
    assert bars and "160,000 rows" in bars[-1]
    assert kinds.count("display_data") == 1 and kinds.count("update_display_data") == len(bars)
    text = [message["content"]["data"]["text/plain"] for message in shown]
    assert "160,000 rows" in text[len(bars) - 1] and text[-2] == ""  # what stays in the notebook's file
    assert html[-2] == "" and kinds[-1] == "execute_result" and "estimate" in html[-1].lower()
    assert all(message["msg_type"] != "stream" for message in told)  # nothing on standard error
