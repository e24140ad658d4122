"""The types of results: hints can be read, and a user's file type-checks."""

from __future__ import annotations

import dataclasses
import inspect
import json
import subprocess
import sys
import typing
from pathlib import Path

import numpy as np
import pytest

import distmom as dm

PUBLIC = [name for name in dm.__all__ if callable(getattr(dm, name))]

USER = """
import distmom as dm

one = dm.mean("lake", "x")
value: float = one.estimate
ends = one.interval
text: str = one.status
checked: dm.MeanResult = one.raise_if("contaminated")
alone: float = dm.mean([1.0, 2.0]).estimate
several = dm.mean("lake", ["x", "y"], rng=0)
first: float = several[0].estimate
named: dm.MeanResult = several["x"]
groups = dm.mean("lake", "x", by="k", where="x > 0")
widths: list[float] = [r.interval[1] - r.interval[0] for r in groups if r.interval is not None]
pair: dm.MeanResult = groups["x", "UA"]
vector: float | None = dm.mean("lake", ["x", "y"], joint=True).radius
spread: float = dm.ustatistic("lake", "x", kernel="gini", blocks=9).estimate
spreads: dm.UStatisticResult = dm.ustatistic("lake", ["x", "y"], kernel="gini", by="k")["x", "UA"]
vectors: dm.VectorResult = dm.mean("lake", ["x", "y"], by=["k"], joint="geometric")[0]
"""

SCRIPT = """
from pathlib import Path

import numpy as np

import distmom as dm

dm.options(rng=0, confidence_level=0.95, progress=False)
lake = dm.scan("lake/", on_bad_file="skip")
one: dm.MeanResult = dm.mean(lake, "price", blocks=dm.RandomBlocks(63), executor=dm.Threads(2)).raise_if()
low, high = one.interval or (float("nan"), float("nan"))
worst: float = max(result.estimate for result in dm.mean(lake, "price", by="city", where="price > 0"))
gini: float = dm.ustatistic(np.arange(10.0), kernel=dm.kernels.gini(), blocks=5).estimate
drift = [column.name for column in dm.describe(Path("lake")) if column.status is not dm.Status.OK]
best: int | str | None = dm.tournament(lake, ["a", "b"], target="y", loss="absolute").champion
arms = dm.Results.of(dm.difference(lake, "paid", by="arm", control="A"))
lift: list[float] = [arm.estimate for arm in arms]
moved: list[bool] = [one.drifted for one in dm.Results.of(dm.compare(["a/", "b/"], ["x", "y"]))]
model = dm.RobustLinearRegression().fit(np.ones((10, 2)), np.ones(10))
predicted: float = float(model.predict(np.ones((1, 2)))[0])
dm.write_results(dm.mean(lake, ["price", "tax"]), "report.html")
table: dict[str, object] = dm.mean(lake, "price").to_dict()
print(low, high, worst, gini, drift, best, lift, moved, predicted, table)
"""

WRONG = """
import distmom as dm

dm.mean("lake", ["x", "y"]).estimate
dm.mean("lake", "x", n_blocks=3)
dm.mean("lake", "x", interval="sharp")
dm.mean("lake", "x").radius
"""


@pytest.mark.parametrize("name", PUBLIC)
def test_hints_of_what_is_public_can_be_read(name: str) -> None:
    public = getattr(dm, name)
    hints = typing.get_type_hints(public)
    if inspect.isfunction(public):
        assert "return" in hints
    if inspect.isclass(public) and not dataclasses.is_dataclass(public):
        typing.get_type_hints(public.__init__)


def test_columns_in_a_list_are_several_results_however_few() -> None:
    x = np.arange(100.0)
    assert isinstance(dm.mean({"x": x}, "x", rng=0), dm.MeanResult)
    assert isinstance(dm.mean({"x": x}, rng=0), dm.MeanResult)
    listed = dm.mean({"x": x}, ["x"], rng=0)
    assert isinstance(listed, dm.Results) and len(listed) == 1
    assert listed["x"] == dm.mean({"x": x}, "x", rng=0)
    assert isinstance(dm.mean({"x": x}, ["x"], joint=True, rng=0), dm.VectorResult)


def checked(path: Path, text: str) -> tuple[int, str]:
    path.write_text(text, "utf-8")
    words = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--no-incremental",
        "--follow-imports=silent",
        str(path),
    ]
    root = Path(dm.__file__).parents[1]
    run = subprocess.run(words, capture_output=True, text=True, cwd=root)
    return run.returncode, run.stdout


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_file_of_a_user_type_checks(tmp_path: Path) -> None:
    for text in (USER, SCRIPT):
        code, out = checked(tmp_path / "user.py", text)
        assert code == 0, out
    code, out = checked(tmp_path / "wrong.py", WRONG)
    assert code == 1
    assert {int(line.split(":")[1]) for line in out.splitlines() if ": error:" in line} == {4, 5, 6, 7}, out


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_checker_of_an_editor_agrees(tmp_path: Path) -> None:
    """Pyright's rules, at their strictest, and with them a mistake that is found."""
    config = {
        "typeCheckingMode": "strict",
        "extraPaths": [str(Path(dm.__file__).parents[1])],
        "include": ["user.py"],
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(config), "utf-8")
    for text, right in ((SCRIPT, True), (SCRIPT + "dm.mean(lake, 'price').radius\n", False)):
        (tmp_path / "user.py").write_text(text, "utf-8")
        words = [sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable]
        run = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
        summary = json.loads(run.stdout)
        assert (summary["summary"]["errorCount"] == 0) == right, run.stdout
