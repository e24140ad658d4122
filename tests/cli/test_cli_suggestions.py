"""What is misspelt is suggested, in one line and with exit code 2 (3 for a path)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import distmom as dm

Run = Callable[..., Any]

MEAN, USTAT = ("mean", "{lake}", "-c", "y"), ("ustat", "{lake}", "-c", "y")
WORDS = {
    "command": (("maen",), "'mean'"),
    "flag": ((*MEAN, "--confidense", "0.9"), "--confidence"),
    "choice": ((*MEAN, "--nan", "omti"), "'omit'"),
    "several words": ((*MEAN, "--joint", "geometrc"), "'geometric'"),
    "word beside numbers": ((*MEAN, "--blocks", "atuo"), "'auto'"),
    "seed": ((*MEAN, "--seed", "randm"), "'random'"),
    "column": ((*MEAN, "--by", "kins"), "'kind'"),
    "file": ((*MEAN, "--block-by", "fil"), "'file'"),
    "unit": (("difference", "{lake}", "-c", "y", "--by", "kind", "--unit", "fiel"), "'file'"),
    "kernel": ((*USTAT, "--kernel", "ginni"), "'gini'"),
    "parameter": ((*USTAT, "--kernel", "mmd", "--parameter", "bandwith=3"), "'bandwidth'"),
    "loss": (("tournament", "{lake}", "--target", "y", "--candidate", "x", "--loss", "hubr"), "'huber'"),
    "ending": ((*MEAN, "--output", "x.htm"), "'.html'"),
    "status": ((*MEAN, "--fail-on", "contaminatd"), "'contaminated'"),
    "template": (("init", "nigtly"), "'nightly'"),
    "explained": (("explain", "file disagree"), "'files disagree'"),
}


@pytest.mark.parametrize("name", WORDS)
def test_the_nearest_word_is_suggested(
    name: str, distmom: Run, lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words, meant = WORDS[name]
    ended = distmom(*(word.format(lake=lake) for word in words))
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1), ended.err
    assert f"did you mean {meant}?" in ended.err


def test_a_path_beside_it_is_suggested(distmom: Run, lake: Path) -> None:
    ended = distmom("mean", lake.with_name("lakke"), "-c", "y")
    assert (ended.code, ended.err.count("\n")) == (3, 1)
    assert "did you mean 'lake'?" in ended.err
    assert "did you mean" not in distmom("mean", lake.with_name("orders"), "-c", "y").err


def test_another_column_is_no_file(distmom: Run, lake: Path) -> None:
    ended = distmom("mean", lake, "-c", "y", "--block-by", "kins")
    assert "did you mean 'kind'?" in ended.err
    assert "'file'" not in distmom("mean", lake, "-c", "filx", "--block-by", "kind").err


JOB = """pipeline = "summary"
[data]
path = "{lake}"
{data}
[mean]
columns = "{column}"
[blocks]
{blocks}
[output]
files = "{output}"
"""
KEYS = {
    "key": ({"data": 'exlude = "a"'}, "'exclude'"),
    "value": ({"data": 'nan = "omti"'}, "'omit'"),
    "design": ({"blocks": 'design = "fils"'}, "'files'"),
    "units": ({"blocks": 'design = "units"\ncolumns = "fil"'}, 'blocks.design = "files"'),
    "number": ({"blocks": 'n = "atuo"'}, "'auto'"),
    "column": ({"column": "kins"}, "'kind'"),
    "ending": ({"output": "x.jsn"}, "'.json'"),
}


@pytest.mark.parametrize("name", KEYS)
def test_in_jobs_too(name: str, distmom: Run, lake: Path, tmp_path: Path) -> None:
    said, meant = KEYS[name]
    usual = {"lake": str(lake), "data": "", "blocks": "", "column": "y", "output": "x.json"}
    (tmp_path / "job.toml").write_text(JOB.format(**(usual | said)))
    ended = distmom("run", tmp_path / "job.toml", "--quiet")
    assert (ended.code, ended.err.count("\n")) == (2, 1), ended.err
    assert meant in ended.err and ("did you mean" in ended.err or "use " in ended.err)


ROWS = {"y": [1.0, 2.0], "kind": ["a", "b"]}


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        (lambda: dm.mean([1.0], confidense_level=0.9), "did you mean 'confidence_level'"),
        (lambda: dm.RandomBlocks(siz=3), "did you mean 'size'"),
        (lambda: dm.kernels.mmd(bandwith=3), "did you mean 'bandwidth'"),
        (lambda: dm.ustatistic([1.0, 2.0], kernel="ginni"), "did you mean 'gini'"),
        (lambda: dm.mean([1.0], interval="ordr"), "did you mean 'order'"),
        (lambda: dm.options(confidence_levl=0.9), "did you mean 'confidence_level'"),
        (lambda: dm.mean(ROWS, "y", blocks=dm.UnitBlocks("Fil")), r"no column 'Fil'.*mean FileBlocks\(\)"),
        (lambda: dm.difference(ROWS, "y", by="kind", unit="fiel"), "no column 'fiel'.* unit='file'"),
        (lambda: dm.mean(ROWS, "y", blocks=dm.UnitBlocks("kins")), "did you mean 'kind'"),
        (lambda: dm.mean(ROWS, "y", blocks="fil"), r"use FileBlocks\(\)"),
        (lambda: dm.compare(ROWS, "y", by="kind", statistics="enrgy"), "did you mean 'energy'"),
        (lambda: dm.train(ROWS, "regression", target="y", options={"max_itr": 3}), "did you mean 'max_iter'"),
    ],
)
def test_in_python_too(wrong: Callable[[], Any], meant: str) -> None:
    with pytest.raises((TypeError, ValueError), match=meant):
        wrong()
