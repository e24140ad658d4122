"""``distmom compare``."""

from __future__ import annotations

import json
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
QUICK = ("--permutations", "199")


@pytest.fixture
def lakes(tmp_path: Path) -> list[Path]:
    """Two lakes of 1,500 rows; y drifted."""
    for number, name in enumerate(("old", "new")):
        (tmp_path / name).mkdir()
        for i in range(3):
            g = np.random.default_rng([number, i])
            y = g.normal(size=500) + number
            table = pa.table({"x": g.normal(size=500), "y": y, "side": [name] * 500})
            pq.write_table(table, tmp_path / name / f"{i}.parquet")
    return [tmp_path / "old", tmp_path / "new"]


def test_json_is_what_python_gives(distmom: Run, lakes: list[Path]) -> None:
    ended = distmom("compare", *lakes, "-c", "x", "-c", "y", "--statistic", "auc", *QUICK, "--json")
    assert ended.code == 0, ended.err
    found = strict_json(ended.out)["results"]
    right = dm.compare(
        [str(p) for p in lakes], ["x", "y"], statistics="auc", rng=0, test=dm.Permutations(199)
    )
    assert found == [strict_json(json.dumps(r.to_dict(), allow_nan=False)) for r in right]
    assert [r["drifted"] for r in found] == [False, True]


def test_a_table_for_people(distmom: Run, lakes: list[Path], tmp_path: Path) -> None:
    words = ("-c", "y", "--by", "side", "--sample", "old", "--sample", "new", "--permutations", "999")
    ended = distmom("compare", f"{tmp_path}/*/*.parquet", *words, "--output", tmp_path / "_found.csv")
    assert ended.code == 0, ended.err
    for text in ("y mean", "y auc", "y energy", "99% interval", "p (Holm)", "3,000"):
        assert text in ended.out
    assert "side = old and side = new differ" in ended.err
    assert (tmp_path / "_found.csv").read_text().count("\n") == 4


def test_two_conditions_and_a_dry_run(distmom: Run, lakes: list[Path]) -> None:
    words = ("compare", lakes[0], "-c", "x", "--where", "y > 0", "--where", "y <= 0")
    assert "projected memory" in distmom(*words, "--dry-run").out
    ended = distmom(*words, *QUICK, "--statistic", "mean")
    assert ended.code == 0 and "x mean" in ended.out


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("-c", "x"), 2, "two lakes"),
        (("-c", "x", "--statistic", "ks"), 2, "ks"),
        (("-c", "x", "--by", "side"), 5, "no two values"),
        (("-c", "x", "--by", "side", "--permutations", "0"), 2, "--permutations: must be"),
        (("-c", "x", "--by", "side", "--test-rows", "1"), 2, "--test-rows: must be"),
        (("-c", "x", "--by", "side", "--block-by", "x"), 2, "--block-by: 'x' is also"),
        (("-c", "x", "--where", "y > 0", "--where", "y > 99"), 5, "filter"),
    ],
)
def test_failures_are_one_line(
    distmom: Run, lakes: list[Path], words: tuple[str, ...], code: int, text: str
) -> None:
    ended = distmom("compare", lakes[0], *words)
    assert (ended.code, ended.out, ended.err.count("\n")) == (code, "", 1), ended.err
    assert text in ended.err


def test_both_samples_are_read_as_the_flags_say(distmom: Run, lakes: list[Path]) -> None:
    words = ("-c", "y", "--statistic", "auc", *QUICK, "--json", "--batch-rows", "100", "--nan", "raise")
    ended = distmom("compare", *lakes, *words)
    assert ended.code == 0, ended.err
    right = dm.compare(lakes, "y", statistics="auc", rng=0, test=dm.Permutations(199))
    assert strict_json(ended.out)["results"] == [strict_json(json.dumps(right.to_dict(), allow_nan=False))]
