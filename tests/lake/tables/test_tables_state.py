"""Saved states of tables: an update reads the files that a later version has added."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable, write_deltalake
from table_checks import rows

import distmom as dm
from distmom.cli.program import program
from distmom.errors import DataError


def test_a_later_version_reads_the_files_it_adds(tmp_path: Path) -> None:
    t, state = tmp_path / "t", tmp_path / "t.state"
    for i in range(3):
        write_deltalake(str(t), rows(400, i), mode="append", partition_by=["key"])
    first = dm.mean(f"{t}@v1", "x", state=state, rng=5)
    assert first.data["state"]["n_files_read"] == 6 and first.data["tables"][0]["version"] == 1
    second = dm.mean(t, "x", state=state, rng=5)
    assert second.data["state"]["n_files_before"] == 6 and second.data["state"]["n_files_read"] == 3
    assert second.data["tables"][0]["version"] == 2
    assert second.plain_estimate == pytest.approx(dm.mean(t, "x", rng=5).plain_estimate, rel=1e-12)
    again = dm.mean(t, "x", state=state, rng=5)
    assert again.data["state"]["n_files_read"] == 0 and again == second


def test_removals_are_refused_or_started_afresh(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    t, state = tmp_path / "t", tmp_path / "t.state"
    for i in range(2):
        write_deltalake(str(t), rows(300, i), mode="append")
    dm.mean(t, "x", state=state, rng=5)
    DeltaTable(str(t)).delete("key = 'a'")
    for data in (t, f"{t}@v0"):  # rows deleted since, and a version before the recorded one
        with pytest.raises(DataError, match=r"state .*gone.*on_change='restart'"):
            dm.mean(data, "x", state=state, rng=5)
    capsys.readouterr()
    words = ["mean", str(t), "-c", "x", "--state", str(state), "--seed", "5", "--json", "--quiet"]
    assert program.run(words) == 3
    assert program.run([*words, "--on-change", "restart"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["data"]["state"]["n_files_before"] == 0 and told["data"]["state"]["restarted"]
    assert told["data"]["tables"] == [{"format": "delta", "version": 2, "path": str(t)}]
    assert told["results"][0]["plain_estimate"] == dm.mean(t, "x", rng=5).plain_estimate


def test_snapshots_of_iceberg(tmp_path: Path, catalog: Any) -> None:
    t, state = catalog.create_table("shop.t", schema=rows(1).schema), tmp_path / "t.state"
    t.append(rows(300))
    dm.mean("iceberg://local/shop.t", "x", state=state, rng=5)
    t.append(rows(200, 1))
    found = dm.mean("iceberg://local/shop.t", "x", state=state, rng=5)
    assert found.data["state"]["n_files_read"] == 1 and found.n_rows == 500
    t.delete("key == 'a'")
    with pytest.raises(DataError, match="gone"):
        dm.mean("iceberg://local/shop.t", "x", state=state, rng=5)
