"""Columns that are answered in one run of the rule have the results that each has alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import distmom as dm
from distmom.estimators.mean import answer, far_rows
from distmom.estimators.mean.plan import MeanPlan
from distmom.estimators.mean.rule import sample, together
from distmom.estimators.mean.rule.answers import answer_columns
from distmom.inference.estimate import Estimates
from distmom.reductions.state import MeanState

N = 70_000  # more rows than the sample has


def lake(folder: Path, n_files: int) -> Path:
    """Columns of many kinds: clean, constant, skew, heavy, with nulls, codes, infinity, a few bad files."""
    g = np.random.default_rng([7, n_files])
    for number, rows in enumerate(np.array_split(np.arange(N), n_files)):
        n = rows.size
        columns: dict[str, Any] = {
            "normal": g.normal(3.0, 1.0, n),
            "constant": np.full(n, 2.5),
            "skew": g.standard_t(2.1, n) ** 2,
            "heavy": np.exp(2.0 * g.standard_normal(n)),
            "nulls": pa.array(g.standard_t(2.1, n) ** 2, mask=g.random(n) < 0.01),
            "codes": np.where(g.random(n) < 0.01, -9_999.0, g.normal(size=n)),
            "infinite": np.where(rows == 77, np.inf, g.normal(size=n)),
            "odd": g.normal(size=n) + (40.0 if number == 1 else 0.0),
            "alike": g.normal(size=n) + g.normal(),
            "none": pa.nulls(n, pa.float64()),
        }
        pq.write_table(pa.table(columns), folder / f"{number:03}.parquet")
    return folder


def bits(one: Estimates) -> list[Any]:
    """All that is said of a column, but for what pads its arrays."""
    found: list[Any] = [one.odd_files, one.promise, one.method, one.pays, one.units is None]
    for g in range(one.answer.estimate.size):
        fields = one.estimate(g).fields() | {"other": one.other(g), "n_used": one.answer.n_used[g]}
        found += [(name, np.asarray(value, object).tolist()) for name, value in fields.items()]
    return [repr(part) for part in found]


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many columns were answered together, each time: all have been compared with theirs alone."""
    n_columns: list[int] = []
    at_once = answer.answers_apart

    def both(plan: MeanPlan, state: MeanState) -> Iterator[Estimates]:
        found = list(at_once(plan, state))
        alone = [answer_columns(plan, state, slice(c, c + 1)) for c in range(len(state.samples))]
        assert [bits(one) for one in found] == [bits(one) for one in alone]
        n_columns.append(len(found))
        return iter(found)

    for module in (answer, sample):
        monkeypatch.setattr(module, "answers_apart", both)
    return n_columns


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_files", "blocks", "sure"),
    [
        *((1, "auto", False), (40, "auto", True), (40, "auto", False)),
        *((40, 15, True), (1, dm.RandomBlocks(repeats=3), True)),
    ],
)
def test_columns_together_have_the_results_of_each_alone(
    n_files: int,
    blocks: Any,
    sure: bool,
    tmp_path: Path,
    compared: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not sure:  # the samples of all are asked
        monkeypatch.setattr(far_rows.Found, "_agree", lambda *_: False)
    names = pq.read_schema(lake(tmp_path, n_files) / "000.parquet").names
    every = {one.column: said(one) for one in dm.mean(tmp_path, names, blocks=blocks, rng=3)}
    assert compared[0] == len(names)
    assert sure or max(compared[1:]) > 2
    # now each by itself
    monkeypatch.setattr(together, "estimates_at_once", lambda plan, pools, n_parts: [None] * len(pools))
    for name in names[:-1]:
        [alone] = dm.mean(tmp_path, [name], blocks=blocks, rng=3)
        assert said(alone) == every[name]


def said(one: Any) -> str:
    """What is said of a column."""
    return repr(sorted(one.to_dict().items()))


@pytest.mark.slow
def test_groups_of_several_columns_have_the_answers_of_each_column(
    tmp_path: Path, compared: list[int]
) -> None:
    g = np.random.default_rng(1)
    keys = pa.array(np.arange(N) % 7)
    table = pa.table({"k": keys, "x": g.standard_t(2.1, N) ** 2, "y": g.normal(size=N)})
    pq.write_table(table, tmp_path / "0.parquet")
    dm.mean(tmp_path, ["x", "y"], by="k", rng=3)
    assert compared == [2]
