"""The estimates of the parts of a sample, taken at once, are those that each has alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import distmom as dm
from distmom.estimators.mean.far_rows import Found
from distmom.estimators.mean.rule import sample, together
from distmom.numerics.arrays import Bools, Ints

N = 70_000  # more rows than the sample has


def lake(folder: Path, n_files: int, *, odd: bool = False) -> Path:
    """Two columns with heavy tails on one side, nulls in the first, in files of about equal size."""
    g = np.random.default_rng([5, n_files])
    for number, rows in enumerate(np.array_split(np.arange(N), n_files)):
        x = g.standard_t(2.1, rows.size) ** 2
        y = np.exp(1.5 * g.standard_normal(rows.size))
        y += 25.0 if odd and number == 1 else 0.0
        table = pa.table({"x": pa.array(x, mask=g.random(rows.size) < 0.01), "y": y})
        pq.write_table(table, folder / f"{number:03}.parquet")
    return folder


def compared(monkeypatch: pytest.MonkeyPatch) -> list[Bools]:
    """Which parts were taken alone, each time: the estimates of all have been compared with theirs alone."""
    taken: list[Bools] = []
    at_once, find = Found._of_parts, sample.may_be_odd

    def both(found: Found, parts: Ints, n_parts: int) -> list[object]:
        estimates = at_once(found, parts, n_parts)
        alone = [found._of_sample(found.kept & (parts == i))[0]["estimate"] for i in range(n_parts)]
        assert [np.asarray(e).tobytes() for e in estimates] == [np.asarray(e).tobytes() for e in alone]
        assert n_parts == 1 or len({np.asarray(e).tobytes() for e in alone}) > 1
        return estimates

    def found_odd(*args: object) -> Bools:
        taken.append(find(*args))  # type: ignore[arg-type]
        return taken[-1]

    monkeypatch.setattr(Found, "_of_parts", both)
    monkeypatch.setattr(sample, "may_be_odd", found_odd)
    monkeypatch.setattr(Found, "_agree", lambda *_: False)  # all is looked at
    # each column by itself: test_columns_apart.py has them together
    monkeypatch.setattr(together, "estimates_at_once", lambda plan, pools, n_parts: [None] * len(pools))
    return taken


@pytest.mark.slow
@pytest.mark.parametrize("n_files", [1, 7, 40])
@pytest.mark.parametrize("joint", [False, "geometric", "coordinatewise"])
@pytest.mark.parametrize("blocks", ["auto", 15])
def test_parts_at_once_have_the_estimates_of_each_alone(
    n_files: int, joint: Any, blocks: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = compared(monkeypatch)
    dm.mean(lake(tmp_path, n_files), ["x", "y"], joint=joint, blocks=blocks, rng=3)
    assert taken
    assert not np.concatenate(taken).all()


@pytest.mark.slow
def test_parts_with_odd_files_are_taken_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = compared(monkeypatch)
    dm.mean(lake(tmp_path, 40, odd=True), "y", rng=3)
    assert np.concatenate(taken).any()
