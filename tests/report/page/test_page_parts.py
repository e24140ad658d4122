"""What a page shows first, what it folds, and how much of many results it shows."""

from __future__ import annotations

import re
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pages import PAGES

import distmom as dm
from distmom.cli.program import program
from distmom.report.again import Again
from distmom.report.page import figure
from distmom.report.page.chosen import chosen, rest_words
from distmom.report.page.parts import Advice, Code, Facts, Grid, Listing
from distmom.report.page.pictures import Bars, Curve, Matrix, Spans, Strip
from distmom.report.page.telling import files_block, leave_out
from distmom.report.shell import joined


@pytest.fixture(scope="module")
def stories(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    names = (
        "mean",
        "groups",
        "many groups",
        "describe",
        "tournament",
        "matrix",
        "vector",
        "training",
        "times",
    )
    made = {name: PAGES[name](tmp_path_factory.mktemp("data")) for name in names}
    return {name: dm.Results.of(found).story() for name, found in made.items()}


def blocks_of(story: Any) -> list[Any]:
    return [*story.blocks, *(b for s in story.sections for b in s.blocks), *story.after]


def test_the_table_comes_first_then_what_to_do(stories: dict[str, Any]) -> None:
    for story in stories.values():
        assert [type(block) for block in story.blocks[:2]] == [Grid, Advice]
        every = blocks_of(story)
        titles = [block.heading for block in every if isinstance(block, Facts | Listing | Code)]
        assert {"Summary", "Assumptions", "Run it again"} <= {*titles, "Summary"}
        folded = {block.heading for block in every if getattr(block, "folded", False)}
        assert {"Assumptions", "Run it again"} <= folded


def test_every_axis_has_a_title_and_a_unit(stories: dict[str, Any]) -> None:
    seen = set()
    for name, story in stories.items():
        for picture in blocks_of(story):
            if isinstance(picture, Strip | Spans | Bars | Curve):
                seen.add(type(picture))
                assert picture.x_name, (name, picture.heading)
                assert "[" in picture.x_name or isinstance(picture, Curve) or name == "matrix"
            if isinstance(picture, Curve):
                assert picture.y_name
    assert seen == {Strip, Spans, Bars, Curve}


def test_cells_have_the_colours_of_the_legend(stories: dict[str, Any]) -> None:
    css = Path(figure.__file__).with_name("style.css").read_text("utf-8")
    [duels] = [b for b in blocks_of(stories["tournament"]) if isinstance(b, Matrix)]
    kinds = {cell.kind for row in duels.cells for cell in row}
    assert kinds - {"self"} == set(duels.kinds) and len(kinds) > 2
    assert all(f".distmom .{kind} {{ background: var(--" in css for kind in kinds)


def test_of_many_groups_the_gravest_and_the_largest_are_drawn(stories: dict[str, Any]) -> None:
    story = stories["many groups"]
    [spans] = [b for b in story.blocks if isinstance(b, Spans)]
    names = [line.name for line in spans.lines]
    assert len(names) == 40 and "k = 77" in names and {f"k = {k}" for k in range(10)} <= set(names)
    assert [line.name for line in spans.lines if line.marked] == ["k = 77"]
    assert "Shown are 40 of 300: 1 that need attention and the 39 with the most rows." in spans.caption
    assert "260 are left out. All are in the table." in spans.caption
    assert story.folded and len(story.blocks[0].rows) == 300
    assert not stories["times"].folded


def test_who_is_chosen_of_many() -> None:
    found = dm.mean({"x": np.ones(600), "k": np.arange(600) % 60}, "x", by="k", rng=0)
    bad = [
        replace(r, status=dm.Status.OK, flags=(dm.Status.CONTAMINATED,) * (i in (50, 51)))
        for i, r in enumerate(found)
    ]
    bad[59] = replace(bad[59], status=dm.Status.NO_FINITE_ANSWER)
    bad[58] = replace(bad[58], n_used=99)
    bad[:50] = [replace(r, status=dm.Status.OK, flags=()) for r in bad[:50]]
    assert chosen(bad, 1) == [59] and chosen(bad, 3)[-1] == 59 and chosen(bad, 60) == list(range(60))
    assert rest_words(bad, 60, "") == "" and "2 of" in rest_words(bad, 2, "")


@given(
    st.lists(
        st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), min_size=1), min_size=1
    )
)
def test_words_come_back_from_their_line(words: list[str]) -> None:
    assert shlex.split(joined(words)) == words


def test_a_condition_is_quoted_as_people_do() -> None:
    line = joined(["distmom", "mean", "a", "--where", "status == 'paid' and x != 3"])
    assert line == "distmom mean a --where \"status == 'paid' and x != 3\""
    for odd in ("it's $5", "don't `x`", "'\\'", "'wow!x'", "'\"'"):
        shown = subprocess.run(["sh", "-c", f"printf %s {joined([odd])}"], capture_output=True, check=True)
        assert shown.stdout.decode() == odd


def _lake(folder: Path, names: list[str]) -> Path:
    (folder / "lake").mkdir()
    for i, name in enumerate(names):
        pq.write_table(pa.table({"x": np.arange(50.0) + i}), folder / "lake" / name)
    return folder / "lake"


def test_one_line_leaves_many_files_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of which some mean something else in a list of patterns."""
    bad = ["#1.parquet", "@2.parquet", " 3.parquet", "4[x].parquet", "#5[*].parquet", "6.parquet"]
    lake = _lake(tmp_path, [*bad, "4x.parquet", "#5.parquet", "good.parquet"])
    monkeypatch.chdir(tmp_path)
    again = Again("dm.mean(", "'lake'", ", 'x', rng=0)", of_files=True)
    again = replace(again, shell=("distmom", "mean", str(lake), "--seed", "0"), shell_excludes=True)
    [code] = leave_out(bad, {"again": again})
    [(name, content)] = code.files
    (_, shell), (_, python) = code.lines
    assert "\n" not in shell and "'\"'" not in shell and shell.endswith(f"--exclude @{name}")
    Path(name).write_text(content, "utf-8")
    told: dict[str, Any] = {"dm": dm}
    exec(python, told)
    assert told["found"].data["n_files"] == 3 and told["found"].n_rows == 150
    assert program.run([*shlex.split(shell)[1:], "--output", "out.json"]) == 0
    assert '"n_files": 3' in Path("out.json").read_text("utf-8")


def test_only_files_that_are_known_to_be_bad_are_left_out() -> None:
    run = {"again": Again("dm.mean(", "'lake'", ")", of_files=True)}
    among = files_block(("a", "b", "c"), run, named=False)
    assert [type(block) for block in among] == [Listing] and "among" in among[0].heading
    sure = files_block(("a", "b", "c"), run, named=True)
    assert [type(block) for block in sure] == [Listing, Code] and re.search("@bad.txt", str(sure[1]))
