"""What a result knows of itself, however it came about."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import distmom as dm
from distmom.report.attributes import with_attributes

X = np.random.default_rng(0).normal(size=4_000)


def lake(path: Path) -> str:
    path.mkdir(parents=True)
    for i, part in enumerate(np.array_split(X, 4)):
        pq.write_table(pa.table({"x": part}), path / f"{i}.parquet")
    return str(path)


def made(way: str, tmp_path: Path, blocks: Any, **options: Any) -> Any:
    """An answer from a call, from an accumulator, or from a state that is shown again."""
    if way == "stream":
        stream = dm.MeanAccumulator("x", blocks=blocks, rng=0, **options)
        stream.update({"x": X})
        return stream.result()
    state = tmp_path / "x.state"
    called = dm.mean(lake(tmp_path / "in"), "x", blocks=blocks, rng=0, state=state, **options)
    return called if way == "call" else dm.merge_states(state)


@pytest.mark.parametrize("way", ["call", "state"])
def test_contiguous_blocks_are_not_said_to_be_dealt_at_random(tmp_path: Path, way: str) -> None:
    found = made(way, tmp_path, dm.StoredBlocks(100))
    text = " ".join(found.telling().answer)
    assert found.design == dm.StoredBlocks(100) and "the rows made 100 blocks" in text
    assert "at random" not in text and "contiguous" in " ".join(found.telling().assumptions)


@pytest.mark.parametrize("way", ["call", "stream", "state"])
def test_the_filter_and_the_promise_are_known(tmp_path: Path, way: str) -> None:
    found = made(way, tmp_path, 101, where="x < 2", contamination=3)
    assert found.design == dm.RandomBlocks(101) and found.contamination == 3
    assert found.data["where"] == "x < 2"
    assert "the interval allows for 3 bad rows" in dict(found.telling().facts)["bad rows it withstands"]
    if way != "stream":
        assert str(tmp_path / "in") in str(found.data["source"])


def test_units_are_called_what_they_are(tmp_path: Path) -> None:
    where = lake(tmp_path / "in")
    files = dm.mean(where, "x", blocks=dm.FileBlocks(3), rng=0)
    units = dm.ustatistic(
        {"x": X, "u": np.arange(X.size) % 50}, "x", kernel="gini", blocks=dm.UnitBlocks("u"), rng=0
    )
    assert (files.blocks_of, units.blocks_of) == ("files", "units")
    assert "whole files were dealt at random" in files.telling().answer[1]
    assert "whole units were dealt at random" in units.telling().answer[1]


def test_documentation_has_all_attributes() -> None:
    for kind in (dm.MeanResult, dm.VectorResult, dm.UStatisticResult, dm.CompareResult, dm.DifferenceResult):
        text = str(kind.__doc__)
        for name in (field.name for field in dataclasses.fields(kind)):
            assert f"{name} :" in text or f"{name}," in text or f", {name} " in text, (kind, name)
    base = "A.\n\nAttributes\n----------\na, b : int\n    Numbers.\nc : str"
    own = "B.\n\nAttributes\n----------\nb : float\n\nNotes\n-----\nNone."
    assert with_attributes(own, base) == (
        "B.\n\nAttributes\n----------\nb : float\na : int\n    Numbers.\nc : str\n\nNotes\n-----\nNone."
    )
    assert with_attributes(None, base) is None
