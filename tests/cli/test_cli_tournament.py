"""``distmom tournament``: table, JSON, files, models, exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import distmom as dm

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def field(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two files of a target, a feature and three columns of predictions."""
    root = tmp_path_factory.mktemp("field")
    g = np.random.default_rng(0)
    for i in range(2):
        x = g.normal(size=1_500)
        y = x + g.standard_t(2.1, 1_500)
        y[::100] = -1e3 * x[::100]
        columns = {"y": y, "x": x, "half": 0.5 * x, "one": x, "none": 0.0 * x}
        pq.write_table(pa.table(columns), root / f"{i}.parquet")
    return root


def words(*names: str) -> list[str]:
    return [w for name in names for w in ("--candidate", name)] + ["--target", "y"]


def test_the_table_has_the_champion_first(distmom: Run, field: Path) -> None:
    ended = distmom("tournament", field, *words("none", "half", "one"), "--contamination", "0.01")
    assert ended.code == 0
    head, _, first, *_ = ended.out.splitlines()
    assert head.split()[0] == "candidate" and first.split()[0] == "one" and " champion" in first
    assert "champion: one; 1 of 3 candidates were left at beta r = 0 (found)" in ended.out


def test_the_document_is_that_of_python(distmom: Run, field: Path) -> None:
    told = json.loads(distmom("tournament", field, *words("none", "one"), "--json").out)
    found = dm.tournament(field, ["none", "one"], "y", rng=0).to_dict()
    keys = ["results", "champions", "finalists", "beta_r", "settings", "table", "duels", "survey"]
    assert list(told) == ["schema_version", *keys, "data", "run"]
    assert {k: told[k] for k in keys} == {k: found[k] for k in keys}
    assert told["champions"] == ["one"] and told["duels"]["loses"] == [[False, True], [False, False]]
    assert told["table"][0]["candidate"] == "one" and len(told["table"][0]["block_losses"]) == 3


@pytest.mark.parametrize("ending", [".json", ".parquet", ".csv", ".html"])
def test_every_format_has_the_candidates(distmom: Run, field: Path, tmp_path: Path, ending: str) -> None:
    output = tmp_path / f"out{ending}"
    ended = distmom("tournament", field, *words("half", "one"), "--output", output, "--quiet")
    assert ended.code == 0 and not ended.out
    if ending == ".parquet":
        table = pq.read_table(output)
        assert table.column("candidate").to_pylist() == ["one", "half"]
        assert table.schema.field("n_won").type == pa.int64()
        assert table.schema.field("threshold").type == pa.float64()
    else:
        assert "half" in output.read_text() and "champion" in output.read_text()


def test_a_model_from_a_file_is_a_candidate(distmom: Run, field: Path, tmp_path: Path) -> None:
    import skops.io
    from sklearn.linear_model import LinearRegression

    x = np.linspace(-1.0, 1.0, 50)[:, None]
    model = LinearRegression().fit(x, 0.9 * x[:, 0])
    skops.io.dump(model, tmp_path / "line.skops")
    arguments = [*words("none", str(tmp_path / "line.skops")), "--feature", "x"]
    told = json.loads(distmom("tournament", field, *arguments, "--json").out)
    assert told["champions"] == ["line"]
    (tmp_path / "evil.skops").write_bytes(b"\x80\x04.")
    ended = distmom("tournament", field, *words(str(tmp_path / "evil.skops")), "--feature", "x")
    assert ended.code == 3 and "cannot be read as a model" in ended.err
    skops.io.dump({"own": field}, tmp_path / "strange.skops")
    ended = distmom("tournament", field, *words(str(tmp_path / "strange.skops")), "--feature", "x")
    assert ended.code == 3 and "which are not trusted" in ended.err


def test_a_dry_run_and_failures(distmom: Run, field: Path, tmp_path: Path) -> None:
    ended = distmom("tournament", field, *words("half", "one"), "--dry-run", "--contamination", "20")
    assert ended.code == 0 and "n candidates" in ended.out and "nothing was read" in ended.out
    assert distmom("tournament", field, "--candidate", "one").code == 2
    ended = distmom("tournament", field, *words("ome"))
    assert ended.code == 2 and "'ome'" in ended.err and ended.err.count("\n") == 1
    state = tmp_path / "s"
    assert distmom("tournament", field, *words("one"), "--state", state).code == 0
    ended = distmom("tournament", field, *words("half"), "--state", state)
    assert ended.code == 2 and "made with other options: candidates was" in ended.err


def test_matrices_from_files_are_candidates_of_pairs(distmom: Run, field: Path, tmp_path: Path) -> None:
    for name, matrix in (("flat", np.zeros((2, 2))), ("good", np.diag([0.5, 0.0]))):
        np.save(tmp_path / f"{name}.npy", matrix)
    g = np.random.default_rng(0)
    label = g.integers(0, 2, 2_000)
    table = pa.table({"label": label, "a": 3 * label + g.normal(size=2_000), "b": g.normal(size=2_000)})
    pq.write_table(table, tmp_path / "d.parquet")
    how = ["--target", "label", "--feature", "a", "--feature", "b", "--loss", "mahalanobis", "--json"]
    files = [w for name in ("flat", "good") for w in ("--candidate", tmp_path / f"{name}.npy")]
    told = json.loads(distmom("tournament", tmp_path / "d.parquet", *files, *how).out)
    assert told["champions"] == told["finalists"] == ["good"] and told["settings"]["parts"] == 2
    assert told["duels"]["loses"] == [[False, True], [False, False]] and told["duels"]["last_loses"] is None
    assert [line["candidate"] for line in told["table"]] == ["good", "flat"]
    sampled = ["--scheme", "swor", "--pairs", "sampled", "--pair-count", "500"]
    ended = distmom("tournament", tmp_path / "d.parquet", *files, *how, *sampled)
    assert json.loads(ended.out)["champions"] == ["good"]
    dry = distmom("tournament", tmp_path / "d.parquet", *files, *how, "--dry-run")
    assert json.loads(dry.out)["plan"]["n_losses"] > 0
    refused = distmom("tournament", tmp_path / "d.parquet", *files, *how, "--pair-budget", "10")
    assert refused.code == 2 and "budget of 10" in refused.err and refused.err.count("\n") == 1
