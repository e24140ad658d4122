"""Losses as columns: the numbers of the definition, in any batches, under conditions on losses too."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from small_leaves import patch_leaves

import distmom as dm
from distmom.lake import ReadOptions
from distmom.lake.filters import parse_filter
from distmom.lake.within import Within
from distmom.passes.losses import Losses, LossSource
from distmom.reductions.losses.candidates import Candidate, RowLoss

N = 1_000


def whole_leaf(features: dict[str, np.ndarray]) -> np.ndarray:
    """Depends on how rows are cut: only whole leaves give the same."""
    return features["x"] + 1e-9 * features["x"].sum()


def source() -> tuple[LossSource, dict[str, np.ndarray]]:
    g = np.random.default_rng(0)
    data = {"y": g.normal(size=N), "x": g.normal(size=N), "p": g.normal(size=N)}
    data["y"][3], data["p"][5] = np.nan, np.nan
    table = pa.table({**data, "key": pa.array(["a", "b"] * (N // 2)).dictionary_encode()})
    candidates = {
        "the loss of p": Candidate("p", (2,)),
        "the loss of f": Candidate("f", (1,), ("x",), function=whole_leaf),
    }
    losses = Losses(candidates, "least", RowLoss("squared"), ("y", "x", "p"))
    stored: Any = dm.scan(table).source
    return LossSource(stored, losses, stored.files), data


def read(options: ReadOptions) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values, which are valid, and which rows count."""
    found = source()[0]
    batches = list(found.reader(options).batches(found.files[0]))
    values = [np.concatenate(columns) for columns in zip(*(b.values for b in batches), strict=True)]
    masks = [[np.ones(b.n_rows, bool) if v is None else v for v in b.valid] for b in batches]
    valid = [np.concatenate(column) for column in zip(*masks, strict=True)]
    keep = np.concatenate([np.ones(b.n_rows, bool) if b.keep is None else b.keep for b in batches])
    return np.array(values), np.array(valid), keep


def test_losses_are_those_of_the_definition_in_any_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    patch_leaves(monkeypatch)
    _, data = source()
    columns = ("x", "the loss of p", "the loss of f", "least")
    options = ReadOptions(columns, ("key",), batch_rows=64)
    values, valid, keep = read(options)
    leaves = [whole_leaf({"x": data["x"][i : i + 64]}) for i in range(0, N, 64)]
    some = ~np.isnan(data["y"])
    assert keep.all() and (valid[1:] == some).all() and valid[0].all()
    p = np.where(np.isnan(data["p"]), np.inf, (data["y"] - data["p"]) ** 2)
    np.testing.assert_array_equal(values[1][some], p[some])
    np.testing.assert_array_equal(values[3][some], np.minimum(values[1], values[2])[some])
    f = (data["y"] - np.concatenate(leaves)) ** 2
    np.testing.assert_array_equal(values[2][64:], f[64:])  # the first leaf has a row without a target
    for batch_rows in (7, 50, 64, 1_000):
        again = read(replace(options, batch_rows=batch_rows))
        for one, other in zip(again, (values, valid, keep), strict=True):
            np.testing.assert_array_equal(one, other)


def test_conditions_on_losses_and_on_columns() -> None:
    inner = Within((("x", -1.0, 1.0), ("least", -np.inf, 4.0)), parse_filter("p < 1"))
    where = Within((("the loss of p", -np.inf, 2.0),), inner)
    values, valid, keep = read(ReadOptions(("x", "p", "the loss of p", "least"), where=where))
    want = (values[0] > -1.0) & (values[0] < 1.0) & (values[1] < 1.0)
    want &= ~valid[2] | ((values[2] < 2.0) & (values[3] < 4.0))
    np.testing.assert_array_equal(keep, want)
    assert 0 < np.count_nonzero(keep) < N


def test_what_has_no_loss_is_read_from_the_source_itself() -> None:
    found, _ = source()
    options = ReadOptions(("x",))
    assert type(found.reader(options)) is type(found.of.reader(options))
    assert found.schema().names == ["y", "x", "p", "key", "the loss of p", "the loss of f", "least"]
    assert found.row_counts().tolist() == [N] and found.in_memory
