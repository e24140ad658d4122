"""The batch job ``nightly``: night after night over a lake that grows."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from job_example import TEMPLATES

import distmom as dm

Run = Callable[..., Any]
TEMPLATE = TEMPLATES / "nightly.toml"


def rows(night: int) -> pa.Table:
    g = np.random.default_rng(night)
    return pa.table(
        {
            "dep_delay": g.standard_t(3, 600),
            "arr_delay": g.lognormal(size=600),
            "carrier": g.choice(["AA", "UA"], 600),
        }
    )


@pytest.fixture
def nightly(tmp_path: Path) -> Path:
    """The template, for two columns and groups, beside the lake that it names."""
    (tmp_path / "lake").mkdir()
    file = tmp_path / "nightly.toml"
    text = TEMPLATE.read_text().replace('"amount"]', '"dep_delay", "arr_delay"]')
    file.write_text(text.replace('# by = ["country"]', 'by = ["carrier"]  '))
    return file


def night(run: Run, file: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a night logs of its state, and its report."""
    ended = run(file, log_json=True)
    assert ended.code == 0, ended.err
    states = [line for line in ended.lines() if line.get("event") == "state"]
    return states[-1], json.loads((file.parent / "nightly.json").read_text())


def test_each_night_reads_the_new_file_alone(run: Run, nightly: Path) -> None:
    lake = nightly.parent / "lake"
    for number in range(2):
        pq.write_table(rows(number), lake / f"{number}.parquet")
    words = [sys.executable, "-m", "distmom", "run", str(nightly), "--log-json"]
    first = subprocess.run(words, capture_output=True, text=True, timeout=240, check=False)
    assert first.returncode == 0, first.stderr
    pq.write_table(rows(2), lake / "2.parquet")
    planned = run(nightly, dry_run=True, log_json=True)
    assert [line["plan"]["n_files_to_read"] for line in planned.lines() if "plan" in line] == [1]
    state, report = night(run, nightly)
    assert (state["n_files_read"], state["n_files_before"]) == (1, 2)
    expected = dm.mean(lake, ["dep_delay", "arr_delay"], by="carrier", rng=0)
    assert isinstance(expected, dm.Results)
    assert [r["n_used"] for r in report["results"]] == [r.n_used for r in expected]
    found = [r["plain_estimate"] for r in report["results"]]
    np.testing.assert_allclose(found, [r.plain_estimate for r in expected], rtol=1e-12)
    state, again = night(run, nightly)  # a night without news
    assert state["n_files_read"] == 0 and again["results"] == report["results"]
    assert (nightly.parent / "nightly.html").read_text().startswith("<!")


def test_the_versions_of_a_table(run: Run, nightly: Path) -> None:
    from deltalake import DeltaTable, write_deltalake

    table = str(nightly.parent / "lake")
    for number in range(3):
        write_deltalake(table, rows(number), mode="append")
        if number:
            state, report = night(run, nightly)
            assert (state["n_files_read"], state["n_files_before"]) == ((2, 0) if number == 1 else (1, 2))
            assert report["data"]["tables"][0]["version"] == number
    DeltaTable(table).delete("carrier = 'AA'")
    before = (nightly.parent / "nightly.json").read_bytes()
    refused = run(nightly)
    assert refused.code == 3 and "on_change" in refused.err
    assert (nightly.parent / "nightly.json").read_bytes() == before
    nightly.write_text(nightly.read_text().replace('# on_change = "error" ', 'on_change = "restart" '))
    state, report = night(run, nightly)
    assert state["n_files_before"] == 0 and {r["group"]["carrier"] for r in report["results"]} == {"UA"}


def test_a_state_is_asked_for(run: Run, nightly: Path) -> None:
    pq.write_table(rows(0), nightly.parent / "lake/0.parquet")
    nightly.write_text(nightly.read_text().replace("state = ", "# state = "))
    for dry_run in (False, True):
        ended = run(nightly, dry_run=dry_run)
        assert (
            ended.code == 2
            and "run.state: is missing; add state to [run]: a nightly job keeps its sums there" in ended.err
        )
