"""``distmom difference``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_cli_mean import strict_json

import distmom as dm

Run = Callable[..., Any]


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    """Three variants of 2,000 users each, with two rows a user."""
    folder = tmp_path / "experiment"
    folder.mkdir()
    g = np.random.default_rng(0)
    user = np.repeat(np.arange(6_000), 2)
    arm = np.array(["a", "b", "c"])[user % 3]
    spent = g.lognormal(size=user.size) + 0.5 * (arm == "b")
    views = g.integers(1, 4, user.size)
    table = pa.table({"user": user, "arm": arm, "spent": spent, "views": views})
    for i in range(4):
        pq.write_table(table.slice(3_000 * i, 3_000), folder / f"{i}.parquet")
    return folder


def test_json_is_what_python_gives(distmom: Run, experiment: Path) -> None:
    words = ("-c", "spent", "--by", "arm", "--unit", "user", "--denominator", "views", "--control", "b")
    ended = distmom("difference", experiment, *words, "--json")
    assert ended.code == 0, ended.err
    found = strict_json(ended.out)["results"]
    right = dm.difference(experiment, "spent", by="arm", unit="user", denominator="views", control="b", rng=0)
    assert isinstance(right, dm.Results)
    assert [(r["control"], r["variant"]) for r in found] == [("b", "a"), ("b", "c")]
    for one, result in zip(found, right, strict=True):
        assert one == strict_json(_json(result))
        assert one["interval"][1] < 0.0 and one["n_units_control"] == 2_000


def _json(result: Any) -> str:
    import json

    return json.dumps(result.to_dict(), allow_nan=False)


def test_a_table_for_people(distmom: Run, experiment: Path) -> None:
    ended = distmom("difference", experiment, "-c", "spent", "--by", "arm", "--unit", "user")
    assert ended.code == 0, ended.err
    for words in ("b − a", "c / a − 1", "95% interval", "units", "2,000"):
        assert words in ended.out


def test_a_dry_run_and_a_file(distmom: Run, experiment: Path, tmp_path: Path) -> None:
    words = ("difference", experiment, "-c", "spent", "--by", "arm")
    assert "projected memory" in distmom(*words, "--dry-run").out
    for ending in ("csv", "parquet", "html", "json"):
        assert distmom(*words, "--output", tmp_path / f"found.{ending}").code == 0
    table = pq.read_table(tmp_path / "found.parquet")
    assert table["variant"].to_pylist() == ["b", "c"]
    assert table["lift"].null_count == 0


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("-c", "spent", "--by", "arm", "--control", "d"), 2, "control"),
        (("-c", "spent"), 2, "--by"),
        (("-c", "spent", "--by", "arm", "--where", "arm = 'a'"), 5, "only one variant, 'a'"),
        (("-c", "spent", "--by", "arm", "--unit", "usr"), 2, "did you mean 'user'?"),
    ],
)
def test_failures_are_one_line(
    distmom: Run, experiment: Path, words: tuple[str, ...], code: int, text: str
) -> None:
    ended = distmom("difference", experiment, *words)
    assert (ended.code, ended.out, ended.err.count("\n")) == (code, "", 1), ended.err
    assert text in ended.err


def test_units_in_both_are_left_out_by_a_flag(distmom: Run, experiment: Path) -> None:
    table = pq.read_table(experiment / "0.parquet").to_pandas()
    table.loc[table.user < 60, "arm"] = ["a", "b"] * 60
    pq.write_table(pa.Table.from_pandas(table), experiment / "0.parquet")
    words = ("difference", experiment, "-c", "spent", "--by", "arm", "--unit", "user")
    told = distmom(*words)
    assert "60 units, 2.9% of the smaller variant's, are in both variants" in told.err
    assert "--crossover omit leaves them out" in distmom(*words, "--explain").err
    done = distmom(*words, "--crossover", "omit")
    assert done.code == 0 and "left out: 60 units in several variants" in done.err
    assert "are in both" not in done.err
