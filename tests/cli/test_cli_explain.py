"""What words of the output mean, and notes that are brief unless everything is to be explained."""

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
from distmom.cli.brief import brief
from distmom.cli.meanings.codes import CODES
from distmom.cli.meanings.intervals import INTERVALS
from distmom.cli.meanings.lookup import meanings
from distmom.cli.options import INTERVALS as KINDS
from distmom.errors import DistmomError
from distmom.meanings import STATUSES
from distmom.signals import ENDINGS, INTERRUPTED

Run = Callable[..., Any]

LONG = "of many files in many folders that were written in the course of many years by many people "


def test_every_status_interval_and_code_has_a_meaning_once() -> None:
    assert sorted(s for row in STATUSES for s in row.statuses) == sorted(dm.Status)
    assert tuple(kind.word for kind in INTERVALS) == KINDS
    errors = {kind.exit_code for kind in every_error(DistmomError)}
    ends = {INTERRUPTED, *(128 + number for number in ENDINGS)}
    assert {code.number for code in CODES} == {0, 4} | errors | ends
    words = [one.word for one in meanings()]
    assert len(words) == len(set(words))


def every_error(kind: type[DistmomError]) -> list[type[DistmomError]]:
    return [kind, *(one for below in kind.__subclasses__() for one in every_error(below))]


@pytest.mark.parametrize("word", [one.word for one in meanings()])
def test_every_word_is_explained_by_itself(distmom: Run, word: str) -> None:
    ended = distmom("explain", *word.split())
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(f"{word} (") and ended.out.count("\n  ") >= 1
    assert "Meaning" in ended.out


def test_kinds_and_parts_of_words_are_found(distmom: Run) -> None:
    exits = distmom("explain", "exit").out
    assert all(f"\n{code.number} (exit code)\n" in f"\n{exits}" for code in CODES)
    assert "files disagree (status)" in distmom("explain", "Files Disagree").out
    assert "accused files (note)" in distmom("explain", "accused").out
    every = distmom("explain").out
    assert all(f"\n  {one.word} " in every for one in meanings())


def test_a_word_that_is_unknown_is_two(distmom: Run) -> None:
    ended = distmom("explain", "contaminatd")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.count("\n") == 1
    assert "did you mean 'contaminated'?" in ended.err
    assert "'distmom explain' lists all words" in distmom("explain", "xyzzy").err


@pytest.mark.parametrize(
    ("note", "short"),
    [
        ("all values are identical", "all values are identical"),
        ("rows are alike (design effect about 3.1); use --blocks 9", "rows are alike; use --blocks 9"),
        (f"rows {LONG} are correlated. Re-run with --block-by file.", f"rows {LONG} are correlated"),
        (f"the estimate {LONG} is off by 3; intervals do not allow for that", None),
        (f"20 units {LONG} make 5 blocks; fewer than 3 units a block make the interval rough", None),
        ("1% of the rows (99% interval 0% to 2%) lie far off (9 in 0.1%); they are in the estimate",
         "1% of the rows lie far off; they are in the estimate"),
        ("1 file holds other values: a (1); b.parquet", None),
        (f"rows {LONG} lie far off; --where \"x > 1; y\" leaves them out", f"rows {LONG} lie far off"),
    ],
)  # fmt: skip
def test_notes_keep_facts_and_lose_advice(note: str, short: str | None) -> None:
    assert brief(note) == (note if short is None else short)


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """Forty files of correlated rows, of which two are in another unit."""
    rng = np.random.default_rng(5)
    for number in range(40):
        x = rng.normal(size=500) + rng.normal()
        pq.write_table(pa.table({"x": x * (1e6 if number > 37 else 1.0)}), tmp_path / f"{number}.parquet")
    return tmp_path


def test_notes_are_brief_unless_explained(distmom: Run, damaged: Path) -> None:
    short = distmom("mean", damaged, "-c", "x")
    whole = distmom("mean", damaged, "-c", "x", "--explain")
    assert short.out == whole.out and short.code == whole.code == 0
    *notes, hint = short.err.splitlines()
    assert notes and all(len(note) < 250 for note in notes)
    assert "38.parquet" in short.err  # that a number may be wrong, and why, is always told
    status = json.loads(distmom("mean", damaged, "-c", "x", "--json").out)["results"][0]["status"]
    assert hint.startswith("details: ") and f"distmom explain '{status}'" in hint
    assert f"\n{status} (status)\n  Meaning" in whole.err
    assert len(whole.err) > len(short.err)
    document = json.loads(distmom("mean", damaged, "-c", "x", "--json", "--explain").out)
    assert document["results"][0]["notes"]


def test_good_results_have_no_hint(distmom: Run, tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=4_000)
    pq.write_table(pa.table({"x": x}), tmp_path / "a.parquet")
    assert distmom("mean", tmp_path, "-c", "x").err == ""
