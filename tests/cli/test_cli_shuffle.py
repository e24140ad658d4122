"""``distmom shuffle``: words, documents, failures and Ctrl-C."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from cli_process import Ended, command, wait_until

Run = Callable[..., Ended]


def test_a_lake_is_shuffled(distmom: Run, lake: Path, tmp_path: Path) -> None:
    done = distmom("shuffle", lake, tmp_path / "a", "--seed", "3", "--quiet")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("2,000 rows of 4 files in random order in 1 files of")
    done = distmom("shuffle", lake, tmp_path / "b", "--seed", "3", "--json", "--quiet")
    document = json.loads(done.out)
    assert document["results"][0]["n_rows"] == 2000 and document["run"]["seed"] == 3
    assert (tmp_path / "a" / "part-00000.parquet").read_bytes() == (
        tmp_path / "b" / "part-00000.parquet"
    ).read_bytes()
    read = pq.read_table(tmp_path / "a")
    assert read.num_rows == 2000 and "day" in read.column_names
    mean = [
        json.loads(distmom("mean", d, "-c", "y", "--json").out)["results"][0] for d in (lake, tmp_path / "a")
    ]
    assert abs(mean[0]["plain_estimate"] - mean[1]["plain_estimate"]) < 1e-12


def test_a_plan_and_refusals(distmom: Run, lake: Path, tmp_path: Path) -> None:
    done = distmom("shuffle", lake, tmp_path / "a", "--dry-run")
    assert done.code == 0 and "nothing was read" in done.out and "disk for spilled rows" in done.out
    plan = json.loads(distmom("shuffle", lake, tmp_path / "a", "--dry-run", "--json").out)
    assert plan["plan"]["n_rows"] == 2000 and not (tmp_path / "a").exists()
    done = distmom("shuffle", lake, lake / "new")
    assert done.code == 2 and done.err.count("\n") == 1 and "lies in the lake" in done.err
    assert distmom("shuffle", lake).code == 2
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_removes_what_was_written(tmp_path: Path) -> None:
    for number in range(8):
        (tmp_path / "lake").mkdir(exist_ok=True)
        table = pa.table({"x": np.random.default_rng(number).random(10**6)})
        pq.write_table(table, tmp_path / "lake" / f"{number}.parquet")
    words = command("shuffle", tmp_path / "lake", tmp_path / "out", "--threads", "1")
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as running:
        wait_until(lambda: len(list(tmp_path.glob(".out.spill.*/*.arrow"))) > 1, "spilled rows")
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=30)
    assert (running.returncode, err) == (130, b"distmom: interrupted\n")
    assert [path.name for path in tmp_path.iterdir()] == ["lake"]
