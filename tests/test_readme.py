"""The commands and examples of README print what README says."""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines import flights

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the demonstration lake below it."""
    path = tmp_path_factory.mktemp("readme")
    assert flights.main([str(path / "demo")]) == 0
    return path


def blocks(language: str) -> list[str]:
    found = re.findall(rf"^```{language}\n(.*?)^```", README, re.S | re.M)
    assert found, f"README has no {language} block"
    return found


@pytest.mark.parametrize("block", blocks("console"))
def test_commands_print_what_they_are_said_to(folder: Path, block: str) -> None:
    command, *want = block.splitlines()
    assert command.startswith("$ distmom ")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        f"{command[2:]} 2>&1" if "2>" not in command else command[2:],
        shell=True,
        cwd=folder,
        env={**os.environ, "PATH": path, "COLUMNS": "110"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert sorted(done.stdout.splitlines()) == sorted(want)  # remarks may come before the table


@pytest.mark.parametrize("block", blocks("python"))
def test_examples_print_what_they_are_said_to(
    folder: Path, block: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    example = doctest.DocTestParser().get_doctest(block, {}, "README", "README.md", 0)
    assert len(example.examples) > 3
    assert doctest.DocTestRunner().run(example).failed == 0
