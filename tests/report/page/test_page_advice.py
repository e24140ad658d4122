"""What pages advise can be done: with options of the command that made the result, and lines that run."""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pages import PAGES, X

import distmom as dm
from distmom import remedies
from distmom.cli.program import program
from distmom.report.again import Again
from distmom.report.page.render import page
from distmom.report.page.telling import leave_out
from distmom.report.page.train import tell_train
from distmom.report.result import Result

NAMES = ("mean", "vector", "statistic", "difference", "compared", "describe", "tournament", "training")
COMMANDS = {
    "MeanResult": (dm.mean, "mean"),
    "VectorResult": (dm.mean, "mean"),
    "UStatisticResult": (dm.ustatistic, "ustat"),
    "DifferenceResult": (dm.difference, "difference"),
    "CompareResult": (dm.compare, "compare"),
    "ColumnProfile": (dm.describe, "describe"),
    "CandidateResult": (dm.tournament, "tournament"),
    "TrainResult": (dm.train, "train"),
}
ELSEWHERE = ("mean without passes=1 (--passes 1)", "sample(fraction=1, shuffle=True)")
"""What names its own command, or another program."""


class Untouched(dict[str, Any]):
    """What pages must not look into."""

    def _refuse(self, *_: Any) -> Any:
        raise AssertionError("a page looks into the call")

    __getitem__ = get = __iter__ = keys = items = __contains__ = _refuse  # type: ignore[assignment]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return {name: PAGES[name](tmp_path_factory.mktemp("data")) for name in NAMES}


def test_pages_never_look_into_the_call(results: dict[str, Any]) -> None:
    for found in map(dm.Results.of, results.values()):
        found.run["call"], before = Untouched(), found.run["call"]
        try:
            assert page(found.story(), {}) and found._repr_html_() and str(found)
        finally:
            found.run["call"] = before


def advised(result: Result) -> Iterable[str]:
    """All texts of a page and remarks on a terminal, of a result with each of the statuses."""
    for word in dm.Status:
        doubtful = replace(result, status=word, flags=() if word.fine else (word,))
        told = doubtful.telling()
        yield from (
            *told.answer,
            *told.do,
            *told.assumptions,
            *(text for fact in told.facts for text in fact),
        )
        yield from doubtful.remarks()


def test_what_is_advised_is_an_option_of_the_command(results: dict[str, Any]) -> None:
    for found in map(dm.Results.of, results.values()):
        function, name = COMMANDS[type(found[0]).__name__]
        parameters = {*inspect.signature(function).parameters}
        command = program.commands[name]
        flags = {flag for option in command.params for flag in option.opts}
        for text in advised(found[0]):
            for other in ELSEWHERE:
                text = text.replace(other, "")
            assert {*re.findall(r"--[a-z][a-z-]+", text)} <= flags, (name, text)
            assert {*re.findall(r"\b(\w+)=(?!=)(?!'many')", text)} <= parameters, (name, text)


def test_every_remedy_is_what_the_command_takes(results: dict[str, Any]) -> None:
    """Each one is tried: as words of a command line, and as arguments in Python."""
    for found in map(dm.Results.of, results.values()):
        function, name = COMMANDS[type(found[0]).__name__]
        parameters = inspect.signature(function).parameters
        for remedy in filter(None, found[0].remedies):
            flags, _, python = remedy.partition(" (")
            if python:
                words = shlex.split(flags.replace("N", "3"))
                words += ["x > 1"] * (len(words) == 1)
                context = click.Context(program.commands[name])
                given, rest, _ = program.commands[name].make_parser(context).parse_args([*words])
                assert words[1] in str(given) and not rest
            assert (python or flags).rstrip(")").partition("=")[0] in parameters
    assert dm.difference({"x": X, "v": X > 1}, "x", by="v", unit="file", rng=0).design == dm.FileBlocks()


def test_differences_and_comparisons_know_no_contamination(results: dict[str, Any]) -> None:
    for name, has in (("mean", True), ("statistic", True), ("difference", False), ("compared", False)):
        [fact, *_] = [
            v for r in dm.Results.of(results[name]) for k, v in r.telling().facts if "tolerated" in k
        ]
        assert ("--contamination" in fact) is has and "does not account for bad rows" in fact


def test_saved_sums_are_made_again_with_other_options(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": X}), tmp_path / "a.parquet")
    called = dm.mean(tmp_path / "a.parquet", "x", rng=0, state=tmp_path / "x.state")
    merged = dm.merge_states(tmp_path / "x.state")
    stream = dm.MeanAccumulator("x", rng=0)
    stream.update({"x": X})
    for result, way in (
        (called, "run again with"),
        (merged, "make the states again with"),
        (stream.result(), "begin again, before the first batch, with"),
    ):
        assert f"{way} {remedies.ALLOWED}" in dict(result.telling().facts)["bad rows tolerated"]
        beyond = replace(result, flags=(dm.Status.BREAKDOWN_POINT_EXCEEDED,), status=dm.Status.OK)
        assert f"if whole files are bad, {way} {remedies.FILES}" in beyond.telling().do[0]


def test_a_line_that_leaves_files_out_is_the_call_with_these_files_left_out(tmp_path: Path) -> None:
    for i in range(12):
        pq.write_table(
            pa.table({"x": X[i::12], "k": np.arange(X[i::12].size) % 2}), tmp_path / f"{i:02}.parquet"
        )
    lake = str(tmp_path)
    whole = dm.mean(lake, "x", by="k", rng=0)
    part = dm.mean(dm.scan(lake, exclude=["00.parquet"], nan="raise"), "x", rng=0)
    exclude = "exclude=['00.parquet', '03.parquet']"
    for found, code in (
        (whole, f"dm.mean(dm.scan({lake!r}, exclude=['03.parquet']), 'x', by='k', rng=0)"),
        (part, f"dm.mean(dm.scan({lake!r}, nan='raise', {exclude}), 'x', rng=0)"),
    ):
        [block] = leave_out(["03.parquet"], found.run)
        [(_, line)] = block.lines  # no command line made it, and none is made up
        assert line == f"found = {code}"
        told: dict[str, Any] = {"dm": dm}
        exec(line, told)
        assert told["found"].data["n_files"] == found.data["n_files"] - 1
    named_like_data = Again("dm.mean(", "'x'", ", 'x')", of_files=True)
    assert named_like_data.python(["a"]) == "dm.mean(dm.scan('x', exclude=['a']), 'x')"


def test_no_command_is_advised_to_leave_files_out_that_cannot(tmp_path: Path) -> None:
    job = Again("dm.mean(", "'lake'", ", 'x')", of_files=True, shell=("distmom", "merge", "a.state"))
    for found, n in ((job, 1), (replace(job, shell_excludes=True), 2)):
        [block] = leave_out(["a b.parquet"], {"again": found, "command": "distmom run job.toml"})
        assert len(block.lines) == n and "run job.toml" not in str(block.lines)
    assert shlex.split(replace(job, shell_excludes=True).command(["a b"]).replace("\\\n", ""))[-1] == "a b"
    for unlike in ("@list.txt", {"x": X}, [str(tmp_path)] * 2):
        run = {"again": Again("dm.mean(", repr(unlike), ")", of_files=False)}
        assert leave_out(["a.parquet"], run) == []


def test_several_results_are_counted_by_what_they_are() -> None:
    g = np.random.default_rng(0)
    rows = {"arr_delay": g.normal(size=900), "arm": np.repeat(["a", "b", "c"], 300)}
    text = page(dm.Results.of(dm.difference(rows, "arr_delay", by="arm", rng=0)).story(), {})
    assert "of 2 differences" in text and "arr_delays" not in text
    both = dm.compare([rows, rows], "arr_delay", rng=0, test=dm.Permutations(9))
    text = page(dm.Results.of(both).story(), {})
    assert "of 3 comparisons" in text and "of 3 columns" not in text and "samples differ" not in text


def test_samples_that_differ_are_no_plain_ok() -> None:
    g = np.random.default_rng(0)
    one, two = {"x": g.normal(size=900)}, {"x": 1.0 + g.normal(size=900)}
    for statistics, words in (
        (["mean"], "samples differ"),
        (["mean", "auc"], "samples differ: 2 of 2 comparisons"),
    ):
        found = dm.compare([one, two], "x", statistics=statistics, rng=0, test=dm.Permutations(199))
        assert words in page(dm.Results.of(found).story(), {})


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "combined the gradients of 11 random blocks"),
        ({"aggregator": "median_block"}, "followed the block of median loss among 11 random blocks"),
        ({"aggregator": "plain", "n_blocks": 1}, "outliers in it move the model"),
    ],
)
def test_a_training_says_what_its_steps_followed(options: dict[str, Any], text: str) -> None:
    pytest.importorskip("sklearn")
    data = {"x": X, "y": 2.0 * X}
    found = dm.train(data, "regression", target="y", options={"max_iter": 5, **options}, rng=0)
    assert text in "".join(tell_train(found).answer)
