"""The commands and examples of README print what README says."""

import doctest
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from distmom.cli.program import program

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")


@pytest.fixture(autouse=True)
def folder(demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The demonstration lake lies below."""
    monkeypatch.chdir(demo.parent)


LONG = "HistGradientBoosting", "kernels.kernel("
"""Models of hundreds of trees and a kernel of one's own, over all flights, take seconds: slow tests."""


def blocks(language: str) -> list[Any]:
    found = re.findall(rf"^```{language}\n(.*?)^```", README, re.S | re.M)
    assert found, f"README has no {language} block"
    return [
        pytest.param(
            block,
            id=f"block{number}",
            marks=[pytest.mark.slow] if any(word in block for word in LONG) else [],
        )
        for number, block in enumerate(found)
    ]


@pytest.mark.parametrize("block", blocks("console"))
def test_commands_print_what_they_are_said_to(
    block: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command, *want = block.splitlines()
    words, _, silenced = command.partition(" 2> ")
    assert words.startswith("$ distmom ") and silenced in ("", "/dev/null")
    monkeypatch.setenv("COLUMNS", "110")
    program.run(shlex.split(words)[2:])
    out, remarks = capsys.readouterr()
    seen = out if silenced else out + remarks
    assert sorted(seen.splitlines()) == sorted(want)  # remarks may come before the table


@pytest.mark.parametrize("block", blocks("python"))
def test_examples_print_what_they_are_said_to(block: str) -> None:
    example = doctest.DocTestParser().get_doctest(block, {}, "README", "README.md", 0)
    assert len(example.examples) > 3
    assert doctest.DocTestRunner().run(example).failed == 0
