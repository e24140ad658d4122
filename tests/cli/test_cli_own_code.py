"""`--kernel MODULE:NAME`: it works wherever the command runs; what is wrong in it is told as the user's."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from cli_process import process

import distmom as dm

MODULE = """
import numpy as np

def gap(a, b):
    return np.abs(a - b)

def at_once(a, b):
    raise KeyError("none")

def late(a, b):  # the trial has numbers between -2 and 2
    if np.max(np.abs(a)) > 4:
        raise KeyError("none")
    return np.abs(a - b)
"""
ASK = ("--column", "x", "--blocks", 10, "--quiet")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "own_kernel.py").write_text(MODULE)
    return tmp_path


def line_of(text: str) -> int:
    return 1 + next(number for number, line in enumerate(MODULE.split("\n")) if text in line)


@pytest.mark.slow
@pytest.mark.cluster
@pytest.mark.parametrize("place", [(), ("--workers", 1)], ids=["threads", "processes"])
def test_of_the_working_directory(folder: Path, lake: Path, place: tuple[object, ...]) -> None:
    words = ("ustat", lake, *ASK, *place, "--kernel")
    done = process(*words, "own_kernel:gap", "--json", cwd=folder)
    assert done.code == 0, done.err
    found = json.loads(done.out)["results"][0]["estimate"]
    assert found == dm.ustatistic(lake, "x", kernel="gini", blocks=10, rng=0).estimate
    for name, text in (("at_once", 'raise KeyError("none")'), ("late", "> 4")):
        done = process(*words, f"own_kernel:{name}", cwd=folder)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1), done.err
        line = line_of(text) + (name == "late")
        assert f"{folder}/own_kernel.py, line {line}" in done.err and "KeyError: 'none'" in done.err


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("x = = 3", "line 1: SyntaxError"),
        ("x = 1\ny = 1 / 0", "line 2: ZeroDivisionError: division by zero"),
        ("import nowhere_at_all", "line 1: ModuleNotFoundError: No module named 'nowhere_at_all'"),
        ("import sys\nsys.exit(0)", "line 2: SystemExit: 0"),
        ("raise BaseException", "line 1: BaseException"),
        ("raise ValueError('a\\nb')", "line 1: ValueError: a b"),
    ],
)
def test_a_module_with_an_error(
    distmom: object, lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, told: str
) -> None:
    (tmp_path / "own_error.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "own_error", raising=False)
    done = distmom("ustat", lake, *ASK, "--kernel", "own_error:f")  # type: ignore[operator]
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1), done.err
    assert f"{tmp_path}/own_error.py, {told}" in done.err


def test_losses_of_one_s_own_are_named_with_their_line(lake: Path) -> None:
    def refuses(*_: object) -> float:
        raise KeyError("none")

    def late(truth: np.ndarray, predicted: np.ndarray) -> np.ndarray:
        raise KeyError("none")

    first = refuses.__code__.co_firstlineno
    rows = {"x": np.arange(40.0), "y": np.arange(40.0), "t": np.arange(40.0)}
    with pytest.raises(dm.ConfigError, match=rf"{Path(__file__).name}, line {first + 1}: KeyError: 'none'"):
        dm.RobustMinimizer(refuses, start=[0.0]).fit(np.ones((40, 1)))  # type: ignore[arg-type]
    with pytest.raises(
        dm.ConfigError, match=rf"KeyError: 'none', in .*{Path(__file__).name}, line {first + 4};"
    ):
        dm.tournament(rows, ["x", "y"], "t", loss=late, executor=dm.Threads(1))
