"""Every function and command that reads a lake reads it from an object store, and tells no secret."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest

import distmom as dm
from distmom.cli.program import program
from distmom.errors import ConfigError

Store = tuple[pafs.FileSystem, str]
SECRETS = ("very-secret-EXAMPLE", "AKIAEXAMPLE")
N = 400


@pytest.fixture
def lake(store: Store, tmp_path: Path) -> Path:
    """Units, variants, a value and two predictions of it: on the disk and in the bucket under ``t``."""
    filesystem, bucket = store
    draw = np.random.default_rng(5)
    for number in range(3):
        x = draw.exponential(size=N)
        columns = {
            "x": x,
            "good": x + draw.normal(size=N) / 10,
            "bad": x + 1,
            "unit": np.arange(N) + number * N,
            "variant": np.where(np.arange(N) % 2, "new", "old"),
        }
        target = tmp_path / "t" / f"{number}.parquet"
        target.parent.mkdir(exist_ok=True)
        pq.write_table(pa.table(columns), target)
        with filesystem.open_output_stream(f"{bucket}/t/{number}.parquet") as stream:
            stream.write(target.read_bytes())
    return tmp_path / "t"


@pytest.fixture
def distmom(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """The command line in this process."""

    def run(*words: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = program.run([str(word) for word in words])
        return code, *capsys.readouterr()

    return run


COMMANDS: dict[str, list[str]] = {
    "mean": ["-c", "x", "--by", "variant"],
    "ustat": ["-c", "x", "--kernel", "gini"],
    "describe": [],
    "difference": ["-c", "x", "--by", "variant", "--unit", "unit", "--control", "old"],
    "tournament": ["--candidate", "good", "--candidate", "bad", "--target", "x"],
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.one_in(2)
def test_commands(
    command: str, lake: Path, store: Store, options: dict[str, str], distmom: Callable[..., Any]
) -> None:
    """The same results as from a disk, and a plan."""
    given = [word for pair in options.items() for word in ("--storage-option", "=".join(pair))]
    words = [*COMMANDS[command], "--json", "--threads", 2, "--quiet"]
    local = distmom(command, lake, *words)
    remote = distmom(command, f"s3://{store[1]}/t", *words, *given)
    assert (local[0], remote[0]) == (0, 0), (local[2], remote[2])
    theirs, ours = json.loads(remote[1]), json.loads(local[1])
    assert theirs["results"] == ours["results"]
    dry = distmom(command, f"s3://{store[1]}/t", *words, *given, "--dry-run")
    assert dry[0] == 0 and json.loads(dry[1])["plan"]["n_bytes"] > 0, dry
    assert not any(secret in text for secret in SECRETS for text in remote[1:] + dry[1:])


def test_two_samples(lake: Path, store: Store, options: dict[str, str]) -> None:
    from distmom import kernels

    root, how = f"s3://{store[1]}/t", {"kernel": kernels.auc(), "rng": 1, "blocks": 5}
    samples = [dm.scan(f"{root}/{i}.parquet", storage_options=options) for i in (0, 1)]
    theirs = dm.ustatistic(samples, "x", **how)
    ours = dm.ustatistic([lake / "0.parquet", lake / "1.parquet"], "x", **how)
    assert theirs.estimate == ours.estimate


def test_frames_have_options_of_their_own() -> None:
    dd = pytest.importorskip("dask.dataframe")
    import pandas as pd

    frame = dd.from_pandas(pd.DataFrame({"x": [1.0, 2.0]}), npartitions=1)
    with pytest.raises(ConfigError, match="storage_options: a Dask DataFrame has its own"):
        dm.mean(dm.scan(frame, storage_options={"region": "x"}), "x")


SUMMARY = """
pipeline = "summary"

[data]
path = "{root}"
storage_options = {options}

[mean]
column = "x"
{more}
[run]
state = "job.state"
log = "json"

[output]
files = ["out.json", "out.html"]
"""


def toml(options: dict[str, Any]) -> str:
    return "{" + ", ".join(f"{name} = {json.dumps(value)}" for name, value in options.items()) + "}"


TRAIN = """
pipeline = "train"

[data]
path = "{root}"
storage_options = {options}

[train]
learner = "regression"
target = "x"
columns = ["good", "bad"]
model = "model"

[run]
state = "job.state"

[output]
files = ["out.json", "out.html"]
"""


def test_a_training(
    lake: Path, store: Store, options: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The model of files on a disk; no secret in what it writes."""
    from distmom.jobs import run_config

    (tmp_path / "job.toml").write_text(TRAIN.format(root=f"s3://{store[1]}/t", options=toml(options)))
    assert run_config(tmp_path / "job.toml", dry_run=True) == 0
    assert run_config(tmp_path / "job.toml") == 0, capsys.readouterr().err
    found = dm.load_model(tmp_path / "model")
    local = dm.RobustLinearRegression(random_state=0).fit(lake, "x", columns=["good", "bad"])
    assert found.coef_.tolist() == local.coef_.tolist() and found.intercept_ == local.intercept_
    told = "".join(capsys.readouterr()).encode()
    told += b"".join(
        path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path.name != "job.toml"
    )
    assert not any(secret.encode() in told for secret in SECRETS)


def test_batch_jobs(
    lake: Path, store: Store, options: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Options from the file; no secret in logs, states, results and errors."""
    from distmom.jobs import run_config
    from distmom.jobs.config import checked
    from distmom.jobs.kinds.summary import JOB
    from distmom.jobs.toml_file import read_toml

    root, file = f"s3://{store[1]}/t", tmp_path / "job.toml"
    given = {**options, "max_attempts": 3, "anonymous": False}
    file.write_text(SUMMARY.format(root=root, options=toml(given), more=""))
    assert run_config(file, dry_run=True) == 0
    assert run_config(file) == 0
    results = json.loads((tmp_path / "out.json").read_text())["results"]
    assert results == dm.Results.of(dm.mean(lake, "x", rng=0)).to_dict()["results"]
    shown = repr(checked(read_toml(file), JOB.tables)).encode()
    for name in ("out.json", "out.html", "job.state"):
        shown += (tmp_path / name).read_bytes()
    text, code = (
        SUMMARY.format(root=root, options=toml({**given, "regiom": "very-secret-EXAMPLE"}), more=""),
        2,
    )
    file.write_text(text)
    assert run_config(file) == code
    assert f"{file}, line 6: data.storage_options: no option 'regiom'" in capsys.readouterr().err
    for wrong in ('"very-secret-EXAMPLE"', '{ secret_key = ["very-secret-EXAMPLE"] }'):
        file.write_text(SUMMARY.format(root=root, options=wrong, more=""))
        assert run_config(file) == 2
        said = capsys.readouterr().err
        assert "line 6: data.storage_options: must be a table of texts" in said
        shown += said.encode()
    assert not any(secret.encode() in shown for secret in SECRETS)
