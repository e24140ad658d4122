"""Help: options in groups, a line each, and examples that run."""

from __future__ import annotations

import itertools
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from distmom.cli.layout import HEADINGS, Command, Option
from distmom.cli.program import GROUPS, program

Run = Callable[..., Any]

COMMANDS = {name: command for name, command in program.commands.items() if isinstance(command, Command)}
RULES = {
    "a sentence": r"[A-Z].*\.( *\[[^]]*\])?",
    "no fragment": r"(?!(Of|For|In|With|To) the )(?!(Of|What) ).*",
}


def help_of(name: str, columns: int, monkeypatch: pytest.MonkeyPatch, distmom: Run) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(columns))
    ended = distmom(name, "--help")
    assert (ended.code, ended.err) == (0, "")
    lines: list[str] = ended.out.splitlines()
    return lines


def test_every_command_has_this_help() -> None:
    assert COMMANDS.keys() == program.commands.keys()


@pytest.mark.parametrize("name", COMMANDS)
def test_options_stand_in_groups_and_take_a_line(
    name: str, monkeypatch: pytest.MonkeyPatch, distmom: Run
) -> None:
    lines = help_of(name, 120, monkeypatch, distmom)
    heads = [line.rstrip(":") for line in lines if re.fullmatch(r"[A-Z][\w ]+:", line)]
    assert heads == [head for head in (*HEADINGS, "Examples") if head in heads]
    assert heads[-1] == "Examples"
    options = [option for option in COMMANDS[name].params if isinstance(option, Option)]
    found = [line for line in lines if line.startswith("  -")]
    assert len(found) == len(options) + 1  # and --help
    assert [line for line in found if not re.fullmatch(r"  -.*\S {2,}[A-Z].*[.\])]", line)] == []
    narrow = help_of(name, 80, monkeypatch, distmom)
    assert max(map(len, narrow[: narrow.index("Examples:")])) <= 80
    following = [line.startswith(" " * 20) for line in narrow]
    assert (True, True) not in itertools.pairwise(following), "an option of three lines"


@pytest.mark.parametrize("name", COMMANDS)
def test_texts_of_options_are_sentences(name: str) -> None:
    for option in COMMANDS[name].params:
        if isinstance(option, click.Option):
            for rule, pattern in RULES.items():
                assert re.fullmatch(pattern, option.help or ""), (rule, option.help)


def test_a_fragment_is_found() -> None:
    assert not re.fullmatch(RULES["no fragment"], "Of the samples, in (0, 1/2).")
    assert not re.fullmatch(RULES["a sentence"], "of mmd")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as the examples want it: orders of 40 days, two parts of a week, jobs."""
    root = tmp_path_factory.mktemp("shop")
    rng = np.random.default_rng(7)
    for day in range(40):
        n = 250
        amount = rng.lognormal(3.0, 1.0, n)
        label = rng.integers(0, 2, n)
        columns = {
            "amount": amount,
            "tip": amount * rng.uniform(0.0, 0.2, n),
            "items": rng.integers(1, 6, n),
            "user_id": rng.integers(0, 900, n),
            "country": rng.choice(["DE", "FR"], n),
            "variant": rng.choice(["A", "B"], n),
            "label": label,
            "score": label + rng.normal(size=n),
            "model_a": amount + rng.normal(size=n),
            "model_b": amount + rng.normal(size=n) * 5.0,
        }
        folder = root / "orders" / f"day={day:02}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table(columns), folder / "part.parquet")
    for folder in ("scratch", "models"):
        (root / folder).mkdir()
    return root


@pytest.fixture
def in_shop(shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, distmom: Run) -> Path:
    """A folder of one's own with the same lake, saved states and jobs."""
    (tmp_path / "orders").symlink_to(shop / "orders", target_is_directory=True)
    for folder in ("scratch", "models", "slurm"):
        (tmp_path / folder).mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def prepare(name: str, folder: Path, distmom: Run) -> None:
    """What an example takes for granted."""
    if name == "merge":
        for week, days in (("week1", "0"), ("week2", "1")):
            made = distmom("mean", f"orders/day={days}*", "-c", "amount", "--state", f"{week}.state")
            assert made.code == 0, made.err
    if name == "run":
        assert distmom("init", "summary").code == 0
        adapted(folder / "summary.toml", {'path = "lake"': 'path = "orders"'})
    if name == "train":
        (folder / "train.toml").write_text(
            'pipeline = "train"\n[data]\npath = "orders"\n[train]\nlearner = "regression"\n'
            'columns = ["items"]\ntarget = "amount"\nmodel = "models/amount"\n[options]\nsteps = 3\n'
            '[output]\nfiles = "amount.json"\n'
        )


def adapted(file: Path, words: dict[str, str]) -> None:
    text = file.read_text("utf-8")
    for old, new in words.items():
        assert old in text
        text = text.replace(old, new)
    file.write_text(text, "utf-8")


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n == "mean" else pytest.mark.slow) for n in COMMANDS]
)
def test_examples_run(name: str, in_shop: Path, distmom: Run) -> None:
    examples = COMMANDS[name].examples
    assert len(examples) == 3
    prepare(name, in_shop, distmom)
    for what, line in examples:
        first, *words = shlex.split(line)
        assert (first, words[0]) == ("distmom", name)
        ended = distmom(*words)
        assert ended.code in (0, 7) if "--fail-on" in words else ended.code == 0, (line, ended.err)
        assert what[0].islower() or what[:4] == "Gini", what
        for flag, file in itertools.pairwise(words):
            assert flag not in ("--output", "--state") or Path(file).exists(), line
    shutil.rmtree(in_shop / "models")


def test_every_command_stands_under_one_heading(distmom: Run) -> None:
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(program.commands)
    ended = distmom("--help")
    assert all(f"\n  {name} " in ended.out for name in program.commands)
    assert "143           Terminated (SIGTERM)." in ended.out
