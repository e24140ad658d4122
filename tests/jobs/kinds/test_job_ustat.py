"""The batch job ``ustat``: what Python computes, of one sample and of two."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import distmom as dm

Run = Callable[..., Any]


def job(folder: Path, text: str) -> Path:
    file = folder / "job.toml"
    file.write_text(f'pipeline = "ustat"\n{text}\noutput.files = ["out.json", "out.html"]\n')
    return file


def results(folder: Path) -> Any:
    return json.loads((folder / "out.json").read_text())["results"]


@pytest.mark.parametrize("kernel", ["energy", "mmd"])
def test_two_lakes(run: Run, folder: Path, kernel: str) -> None:
    own = ", parameters = { bandwidth = 0.5 }" if kernel == "mmd" else ""
    file = job(
        folder,
        f"""
        data = {{ paths = ["lake/f0.parquet", "lake/f1.parquet"], batch_rows = 100 }}
        ustat = {{ columns = ["x", "y"], kernel = "{kernel}"{own} }}
        promise = {{ confidence = 0.9 }}
        blocks = {{ n = 5 }}
        run = {{ seed = 3 }}
        """,
    )
    planned = run(file, dry_run=True)
    assert planned.code == 0 and not (folder / "out.json").exists(), planned.err
    ended = run(file)
    assert ended.code == 0, ended.err
    made = dm.kernels.mmd(0.5) if kernel == "mmd" else dm.kernels.energy()
    pair = [folder / "lake" / f"f{i}.parquet" for i in (0, 1)]
    right = dm.ustatistic(pair, ["x", "y"], kernel=made, blocks=5, confidence_level=0.9, rng=3)
    every = [right] if isinstance(right, dm.UStatisticResult) else list(right)
    assert results(folder) == [one.to_dict() for one in every]


def test_two_conditions_and_two_values_are_two_samples(run: Run, folder: Path) -> None:
    own = 'ustat = { columns = "x", kernel = "energy"'
    found = []
    for text in (
        f'data.path = "lake"\n{own}, by = "kind" }}',
        f'data.path = "lake"\n{own}, by = "kind", samples = ["a", "b"] }}',
        f"""data = {{ path = "lake", where = ["kind = 'a'", "kind = 'b'"] }}\n{own} }}""",
    ):
        ended = run(job(folder, text))
        assert ended.code == 0, ended.err
        found.append([one["estimate"] for one in results(folder)])
    conditions = ["kind = 'a'", "kind = 'b'"]
    right = dm.ustatistic(folder / "lake", "x", kernel="energy", where=conditions, rng=0)
    assert found == [[right.estimate]] * 3


def test_one_sample_by_groups_and_pairs(run: Run, folder: Path) -> None:
    file = job(
        folder,
        """
        data.path = "lake"
        ustat = { columns = "x", kernel = "gini", by = "kind" }
        pairs = { kind = "disjoint" }
        """,
    )
    assert run(file).code == 0
    right = dm.ustatistic(folder / "lake", "x", kernel="gini", by="kind", pairs="disjoint", rng=0)
    assert [one["estimate"] for one in results(folder)] == [one.estimate for one in right]


def test_a_kernel_with_a_matrix(run: Run, folder: Path) -> None:
    own = 'columns = ["x", "y"], kernel = "mahalanobis", parameters = { matrix = [[2.0]], threshold = 1.0 }'
    ended = run(job(folder, f'data.path = "lake"\nustat = {{ {own} }}'))
    assert ended.code == 0, ended.err
    made = dm.kernels.mahalanobis(np.array([[2.0]]), threshold=1.0)
    right = dm.ustatistic(folder / "lake", ["x", "y"], kernel=made, rng=0)
    assert [one["estimate"] for one in results(folder)] == [right.estimate]


@pytest.mark.parametrize(
    ("own", "line", "said"),
    [
        ('kernel = "enrgy"', 3, "did you mean 'energy'"),
        ('kernel = "gini", parameters = { bandwidth = 1.0 }', 3, "bandwidth"),
        ('kernel = "gini", parameters = 3', 3, "ustat.parameters: must be a table of texts, numbers"),
        ('kernel = "energy", samples = ["a", "b"]', 3, "ustat.samples: are values of one column"),
        ('columns = "y"', 3, "ustat.kernel: is missing"),
    ],
)
def test_mistakes_are_told_with_their_line(run: Run, folder: Path, own: str, line: int, said: str) -> None:
    given = own if "columns" in own else f'columns = "x", {own}'
    file = job(folder, f'data.path = "lake"\nustat = {{ {given} }}')
    for dry_run in (True, False):
        ended = run(file, dry_run=dry_run)
        assert ended.code == 2 and said in ended.err and f"line {line}" in ended.err, ended.err


def test_there_is_no_state(run: Run, folder: Path) -> None:
    file = job(folder, 'data.path = "lake"\nustat = { columns = "x", kernel = "gini" }\nrun.state = "s"')
    ended = run(file)
    assert ended.code == 2 and "run.state: U-statistics read all rows again; drop it" in ended.err
