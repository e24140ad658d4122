"""``distmom mean``: options, streams, JSON, output files."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from flat import flat

import distmom as dm
from distmom.cli.commands.mean import mean_command
from distmom.cli.program import prepare_process, program
from distmom.cli.words import FIELDS
from distmom.designs.blocks import DESIGNS
from distmom.estimators.mean import answer

Run = Callable[..., Any]

RESULT_KEYS = [
    "column",
    "group",
    "estimate",
    "interval",
    "interval_kind",
    "confidence_level",
    "status",
    "flags",
    "n_rows",
    "n_used",
    "n_null",
    "n_nan",
    "n_inf",
    "n_blocks",
    "block_size",
    "n_non_finite_blocks",
    "plain_estimate",
    "scheme",
]
MORE_KEYS = [
    "interval_reason",
    "actual_level",
    "repeats",
    "n_screened_out",
    "n_units",
    "n_units_exact",
    "weights",
    "n_unweighted",
    "n_zero_weight",
    "n_effective",
    "design",
    "contamination",
    "far_rows",
    "without_extremes",
    "other_estimate",
    "accused_files",
    "files_named",
    "notes",
    "type",
]


def strict_json(text: str) -> dict[str, Any]:
    def refuse(word: str) -> None:
        raise ValueError(f"{word} is not JSON")

    document = json.loads(text, parse_constant=refuse)
    assert isinstance(document, dict)
    return document


def test_table_goes_to_stdout_and_remarks_to_stderr(distmom: Run, lake: Path) -> None:
    ended = distmom("mean", lake, "-c", "x")
    assert ended.code == 0
    head, _, row = ended.out.splitlines()
    for word in ("column", "estimate", "99% interval", "sample mean", "rows used", "blocks", "status"):
        assert word in head
    assert row.split()[0] == "x"
    assert "1,960" in row
    assert ended.err == "x: 40 null of 2,000 rows\n"


def test_of_very_many_groups_the_first_and_the_last_are_printed(
    distmom: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys, x = np.arange(2_400) % 1_200, np.random.default_rng(0).normal(size=2_400)
    x[7::1_200] = np.nan  # rows of a group that is not shown are counted all the same
    pq.write_table(pa.table({"k": keys + 100, "x": x}), tmp_path / "many.parquet")
    made: list[int] = []
    make = answer.AnswerColumns.make
    monkeypatch.setattr(answer.AnswerColumns, "make", lambda self, g: made.append(g) or make(self, g))
    call = "mean", tmp_path / "many.parquet", "-c", "x", "--by", "k"
    ended = distmom(*call)
    assert set(made) <= {*range(25), *range(1_175, 1_200)}
    _, _, *lines, cut, told = ended.out.splitlines()
    numbers = [int(line.split()[0].replace(",", "")) for line in lines]
    assert numbers == [*range(100, 125), *range(1_275, 1_300)]
    assert cut.startswith("first and last 25 of 1,200 results, with their notes; --output FILE")
    assert told.startswith("status of all: ")
    assert "x: 2 NaN of 2,400 rows\n" in ended.err
    made.clear()
    distmom(*call, "--output", tmp_path / "all.csv", "--quiet")
    assert set(made) == set(range(1_200)) and len(made) < 1_210
    assert len((tmp_path / "all.csv").read_text("utf-8").splitlines()) == 1_201


def test_the_numbers_are_those_of_python(distmom: Run, lake: Path) -> None:
    found = strict_json(distmom("mean", lake, "-c", "x", "--by", "day", "--json").out)["results"]
    expected = dm.mean(lake, "x", by="day", rng=0)
    assert isinstance(expected, dm.Results)
    assert found == expected.to_dict()["results"]
    assert len(found) == 4


def test_json_has_exactly_the_documented_keys(distmom: Run, lake: Path) -> None:
    ended = distmom("mean", lake, "-c", "x", "-c", "y", "--json")
    assert ended.err == ""
    document = strict_json(ended.out)
    assert list(document) == ["schema_version", "results", "data", "run"]
    for result in document["results"]:
        assert list(result) == RESULT_KEYS + MORE_KEYS
    assert list(document["data"]) == ["n_files", "n_bytes", "skipped", "source", "where"]
    assert list(document["run"]) == ["seconds", "seed", "workers", "versions", "call", "command"]
    assert document["run"]["command"].startswith("distmom mean ")
    assert document["schema_version"] == 2
    assert document["data"]["n_files"] == 4
    assert document["run"]["seed"] == 0


def test_json_has_no_nan_where_a_group_has_no_answer(distmom: Run, tmp_path: Path) -> None:
    table = pa.table({"x": [1.0] * 100 + [None] * 3 + [np.inf] * 3, "k": ["a"] * 100 + ["b"] * 3 + ["c"] * 3})
    pq.write_table(table, tmp_path / "f.parquet")
    ended = distmom("mean", tmp_path, "-c", "x", "--by", "k", "--json")
    results = strict_json(ended.out)["results"]
    assert [r["group"]["k"] for r in results] == ["a", "b", "c"]
    assert results[1]["estimate"] is None
    assert results[1]["interval"] is None
    assert ended.code == 5


def test_joint_vectors(distmom: Run, lake: Path, tmp_path: Path) -> None:
    expected = dm.mean(lake, ["x", "y"], joint=True, rng=0)
    assert isinstance(expected, dm.VectorResult)
    words = ("mean", lake, "-c", "x", "-c", "y", "--joint", "geometric")
    ended = distmom(*words, "--output", tmp_path / "v.csv")
    head, _, first, second = ended.out.splitlines()
    assert "99% radius" in head and (first.split()[0], second.split()[0]) == ("x", "y")
    assert ended.err == "x, y: 40 null of 2,000 rows\n" and ended.code == 0
    assert len((tmp_path / "v.csv").read_text().splitlines()) == 3
    [found] = strict_json(distmom(*words, "--json").out)["results"]
    assert found == expected.to_dict() and len(found["estimate"]) == 2
    by_columns = strict_json(distmom(*words[:-1], "coordinatewise", "--json").out)["results"][0]
    assert by_columns["radius"] is None and len(by_columns["intervals"]) == 2
    refused = distmom(*words, "--interval", "order")
    assert refused.code == 2 and "--joint geometric cannot be combined with --interval order" in refused.err
    assert distmom(*words[:-1], "geometrical").code == 2
    plan = strict_json(distmom(*words, "--dry-run", "--json").out)["plan"]
    assert plan["n_files"] == 4


def test_several_data_arguments_are_a_list(distmom: Run, lake: Path, tmp_path: Path) -> None:
    files = sorted(lake.glob("*/*.parquet"))
    whole = strict_json(distmom("mean", lake, "-c", "x", "--json").out)["results"]
    assert strict_json(distmom("mean", *files, "-c", "x", "--json").out)["results"] == whole
    assert strict_json(distmom("mean", f"{lake}/*/*.parquet", "-c", "x", "--json").out)["results"] == whole
    listed = tmp_path / "list.txt"
    listed.write_text("# all files\n" + "\n".join(map(str, files)) + "\n")
    assert strict_json(distmom("mean", f"@{listed}", "-c", "x", "--json").out)["results"] == whole


@pytest.mark.parametrize("words", [("-c", "-z,1"), ("--column", "-z,1"), ("--column=-z,1",)])
def test_column_names_may_hold_signs(distmom: Run, lake: Path, words: tuple[str, ...]) -> None:
    document = strict_json(distmom("mean", lake, *words, "--json").out)
    assert [r["column"] for r in document["results"]] == ["-z,1"]


@pytest.mark.parametrize(
    ("short", "long"),
    [
        (("--blocks", "5"), ("--n-blocks", "5")),
        (("--confidence", "0.9"), ("--confidence-level", "0.9")),
        (("--seed", "7"), ("--rng", "7")),
    ],
)
def test_long_names_are_aliases(
    distmom: Run, lake: Path, short: tuple[str, ...], long: tuple[str, ...]
) -> None:
    first = strict_json(distmom("mean", lake, "-c", "y", *short, "--json").out)
    second = strict_json(distmom("mean", lake, "-c", "y", *long, "--json").out)
    plain = strict_json(distmom("mean", lake, "-c", "y", "--json").out)
    assert first["results"] == second["results"] != plain["results"]


OPTIONS: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "where": (("--where", "day > 0"), {"where": "day > 0"}),
    "swor": (("--scheme", "swor", "--tau", "0.4"), {"scheme": "swor", "tau": 0.4}),
    "monte_carlo": (
        ("--scheme", "monte_carlo", "--blocks", "9", "--block-size", "50"),
        {"scheme": "monte_carlo", "n_blocks": 9, "block_size": 50},
    ),
    "repeats": (("--repeats", "3"), {"repeats": 3}),
    "contamination": (("--contamination", "4"), {"contamination": 4}),
    "contamination, share": (("--contamination", "0.01"), {"contamination": 0.01}),
    "paper": (
        ("--blocks", "paper", "--interval", "closed-form"),
        {"n_blocks": "paper", "interval": "closed-form"},
    ),
    "block_size": (("--block-size", "40"), {"block_size": 40}),
    "stored": (("--order", "stored"), {"order": "stored"}),
    "block_by file": (("--block-by", "file"), {"block_by": "file"}),
    "block_by columns": (("--block-by", "day", "--block-by", "kind"), {"block_by": ["day", "kind"]}),
    "chunk_rows": (("--chunk-rows", "3"), {"chunk_rows": 3}),
    "fine": (("--fine", "many"), {"fine": "many"}),
    "nan": (("--nan", "keep"), {"nan": "keep"}),
    "place": (
        ("--threads", "1", "--batch-rows", "7", "--memory-limit", "2GB"),
        {"threads": 1, "batch_rows": 7, "memory_limit": "2GB"},
    ),
}


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.one_in(2)
def test_options_reach_the_estimator(distmom: Run, lake: Path, name: str) -> None:
    words, options = OPTIONS[name]
    found = strict_json(distmom("mean", lake, "-c", "y", *words, "--json").out)
    expected = flat(dm.mean)(lake, "y", rng=0, **options)
    assert isinstance(expected, dm.MeanResult)
    assert found["results"] == [expected.to_dict()]


def test_every_option_of_python_is_on_the_command_line() -> None:
    import inspect

    of_python = {name for f in (dm.mean, dm.scan) for name in inspect.signature(f).parameters}
    here = {p.name for p in mean_command.params}
    assert of_python - {"blocks", "executor"} | {"on_change", "memory_limit"} <= here
    flags = {flag for p in mean_command.params for flag in p.opts}
    for kind in (*DESIGNS, dm.Threads, dm.Processes):
        for field in fields(kind):
            if field.name not in ("replace", "memory_limit", "scratch"):
                assert FIELDS[kind.__name__][field.name] in flags
    assert {"--scheme", "--scheduler"} <= flags


def test_defaults_are_those_of_python_but_for_the_seed() -> None:
    import inspect

    of_python = {**inspect.signature(dm.scan).parameters, **inspect.signature(dm.mean).parameters}
    compared = []
    for parameter in mean_command.params:
        default = parameter.to_info_dict().get("default")
        if parameter.name in of_python and default is not None and parameter.name != "rng":
            assert default == of_python[parameter.name].default
            compared.append(parameter.name)
    assert sorted(compared) == ["confidence_level", "interval", "missing", "nan", "on_bad_file"]


def test_a_random_seed_is_new_each_time_and_can_be_had_again(distmom: Run, lake: Path) -> None:
    first, second = (
        strict_json(distmom("mean", lake, "-c", "y", "--seed", "random", "--json").out) for _ in range(2)
    )
    assert first["run"]["seed"] != second["run"]["seed"]
    again = strict_json(distmom("mean", lake, "-c", "y", "--seed", first["run"]["seed"], "--json").out)
    assert again["results"] == first["results"]


def test_quiet_leaves_the_table_alone(distmom: Run, lake: Path, tmp_path: Path) -> None:
    loud = distmom("mean", lake, "-c", "x")
    quiet = distmom("mean", lake, "-c", "x", "--quiet")
    assert (quiet.out, quiet.err) == (loud.out, "")
    silent = distmom("mean", lake, "-c", "x", "--quiet", "--output", tmp_path / "x.json")
    assert (silent.code, silent.out, silent.err) == (0, "", "")
    assert (tmp_path / "x.json").exists()


def test_signs_that_a_terminal_obeys_are_shown_as_escapes(distmom: Run, lake: Path) -> None:
    ended = distmom("mean", lake, "-c", "x", "--by", "kind")
    assert "b\\x1b[31m" in ended.out
    assert "\x1b" not in ended.out + ended.err


@pytest.mark.parametrize("ending", [".json", ".parquet", ".csv", ".html"])
def test_output_files_hold_the_results(distmom: Run, lake: Path, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"out{ending}"
    path.write_text("old")
    ended = distmom("mean", lake, "-c", "x", "-c", "y", "--output", path)
    assert ended.code == 0
    assert ended.out
    expected = dm.mean(lake, ["x", "y"], rng=0)
    assert isinstance(expected, dm.Results)
    estimates = [r.estimate for r in expected]
    if ending == ".json":
        assert [r["estimate"] for r in strict_json(path.read_text())["results"]] == estimates
    elif ending == ".parquet":
        assert pq.read_table(path)["estimate"].to_pylist() == estimates
    elif ending == ".csv":
        with path.open() as file:
            assert [float(row["estimate"]) for row in csv.DictReader(file)] == estimates
    else:
        assert expected[0].shown_values()[0] in path.read_text()
    assert list(tmp_path.iterdir()) == [path]


def test_output_is_checked_before_the_work(
    distmom: Run, lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from distmom.estimators.mean import question

    def never(*_: object, **__: object) -> None:
        raise AssertionError("the work began")

    monkeypatch.setattr(question, "open_data", never)
    for path in (tmp_path / "x.txt", tmp_path / "none" / "x.json"):
        ended = distmom("mean", lake, "-c", "x", "--output", path)
        assert ended.code == 2
        assert "output" in ended.err
    assert list(tmp_path.iterdir()) == []


def test_no_output_is_left_by_a_failure(distmom: Run, bad_lake: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    ended = distmom("mean", bad_lake, "-c", "x", "--output", target)
    assert ended.code == 3
    assert not target.exists()
    assert [p.name for p in tmp_path.iterdir()] == ["bad"]


@pytest.fixture
def no_rows_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    from distmom.cluster.executors import local
    from distmom.lake import Reader

    def never(*_: object, **__: object) -> None:
        raise AssertionError("a row was read, or a process started")

    monkeypatch.setattr(Reader, "batches", never)
    monkeypatch.setattr(local, "local_executor", never)


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--by", "kind"),
        ("--where", "day > 1"),
        ("--order", "stored"),
        ("--scheme", "swor"),
        ("--scheme", "swor", "--where", "y > 0"),
        ("--scheme", "monte_carlo"),
        ("--repeats", "5"),
        ("--contamination", "3", "--where", "y > 0"),
        ("--workers", "3"),
    ],
)
def test_dry_run_reads_no_rows(distmom: Run, lake: Path, no_rows_are_read: None, words: tuple[str]) -> None:
    ended = distmom("mean", lake, "-c", "x", *words, "--dry-run")
    assert ended.code == 0, ended.err
    assert ended.out.startswith("n files")
    document = strict_json(distmom("mean", lake, "-c", "x", *words, "--dry-run", "--json").out)
    assert list(document) == ["schema_version", "results", "data", "run", "plan"]
    assert document["results"] == []
    assert document["data"]["n_files"] == 4
    counted = "--where" in words and ("swor" in words or "--contamination" in words)
    assert (document["plan"]["filter"] is not None) == counted
    if "--workers" in words:
        assert document["plan"]["threads"] == 3


def test_dry_run_control(distmom: Run, lake: Path, no_rows_are_read: None) -> None:
    ended = distmom("mean", lake, "-c", "x")
    assert ended.code == 2  # a function of these tests is the user's
    assert "a row was read" in ended.err


def test_dry_run_refuses_what_the_run_would(distmom: Run, lake: Path) -> None:
    assert distmom("mean", lake, "-c", "nope", "--dry-run").code == 2
    assert distmom("mean", lake, "-c", "kind", "--dry-run").code == 3
    assert distmom("mean", lake, "-c", "x", "--where", "nope = 1", "--dry-run").code == 2
    assert distmom("mean", lake, "-c", "x", "--workers", "0", "--dry-run").code == 2
    assert distmom("mean", lake, "-c", "x", "--memory-limit", "1MB", "--dry-run").code == 6


def test_help_and_version(distmom: Run) -> None:
    for words in (("--help",), ("-h",), ("mean", "--help"), ("run", "--help")):
        ended = distmom(*words)
        assert (ended.code, ended.err) == (0, "")
        assert ended.out.startswith("Usage: distmom")
    assert distmom("--version").out == f"distmom {dm.__version__}\n"
    bare = distmom()
    assert (bare.code, bare.out) == (2, "")
    assert "Estimate:" in bare.err and "Exit codes:" in bare.err


def test_clicks_own_runner_works(lake: Path) -> None:
    done = CliRunner().invoke(program, ["mean", str(lake), "-c", "x", "--json"])
    assert done.exit_code == 0
    assert CliRunner().invoke(program, ["mean"]).exit_code == 2


def test_python_warnings_do_not_reach_the_user(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    import warnings

    monkeypatch.delenv("DISTMOM_DEBUG", raising=False)
    for name in ("PYTHONWARNINGS", "DASK_LOGGING__DISTRIBUTED"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)  # so that both are taken away again afterwards
    prepare_process()
    warnings.warn("not for users", stacklevel=1)
    assert capfd.readouterr().err == ""


def test_a_page_repeats_the_command_with_the_seed_that_was_drawn(distmom: Run, lake: Path) -> None:
    page = lake.parent / "page.html"
    for words, told in (
        (("--seed", "random"), None),
        (("--seed=7",), "--seed=7 "),
        ((), " --seed 0"),
        (("-c", "y"), "-c y"),
    ):
        distmom("mean", lake, "-c", "x", *words, "--output", page)
        text = page.read_text("utf-8").replace("\u200b", "")
        assert text.count("--seed") == 1 and (told is None or told in text), words
