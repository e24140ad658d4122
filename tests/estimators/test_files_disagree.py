"""``files disagree`` means found and repaired; what is not repaired is ``breakdown point exceeded``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import distmom as dm
from distmom.estimators import survey
from distmom.report import Results

BAD = ("03.parquet", "11.parquet", "23.parquet")
CODE = -9_999.0
CENTRE, NEAR = 20.0, 2.0
"""The mean of the good rows, and a distance that no clean answer has: six standard errors of 9 blocks."""

Lakes = dict[str, Path]


@pytest.fixture(scope="module")
def lakes(tmp_path_factory: pytest.TempPathFactory) -> Lakes:
    """Forty files of 200 rows: clean, three of another unit, one code in a hundred rows."""
    root = tmp_path_factory.mktemp("disagree")
    for name in ("clean", "files", "codes"):
        (root / name).mkdir()
        g, of_damage = np.random.default_rng(0), np.random.default_rng(1)
        for number in range(40):
            x, arm = g.normal(CENTRE, 5.0, 200), np.where(g.random(200) < 0.5, "a", "b")
            unit, file = g.integers(0, 100, 200), f"{number:02}.parquet"
            if name == "files" and file in BAD:
                x = 60_000.0 * x
            if name == "codes":
                x = np.where(of_damage.random(200) < 0.01, CODE, x)
            lists = pa.FixedSizeListArray.from_arrays(pa.array(np.stack([x, x], axis=1).ravel()), 2)
            table = {"x": x, "y": x[::-1], "v": lists, "arm": arm, "unit": unit, "w": np.ones(200)}
            pq.write_table(pa.table(table), root / name / file)
    return {one.name: one for one in root.iterdir()}


def mean(column: Any = "x", **how: Any) -> Callable[[Path], Any]:
    return lambda lake: dm.mean(lake, column, rng=0, **how)


def spread(column: Any = "x", kernel: str = "variance", **how: Any) -> Callable[[Path], Any]:
    return lambda lake: dm.ustatistic(lake, column, kernel=kernel, rng=0, **how)


MEANS: dict[str, Callable[[Path], Any]] = {
    "default": mean(),
    "a number": mean(blocks=45),
    "paper": mean(blocks="paper"),
    "a number of rows": mean(contamination=5),
    "stored": mean(blocks=dm.StoredBlocks()),
    "stored, a number": mean(blocks=dm.StoredBlocks(9)),
    "chunks": mean(blocks=dm.RandomBlocks(21, chunk_rows=20)),
    "repeated": mean(blocks=dm.RandomBlocks(21, repeats=3)),
    "files": mean(blocks=dm.FileBlocks()),
    "units": mean(blocks=dm.UnitBlocks("unit")),
    "samples": mean(blocks=dm.SampledBlocks(21, size=100)),
    "weights": mean(blocks=45, weights="w"),
    "filtered": mean(blocks=45, where="unit < 90"),
    "vectors": mean(["x", "y"], joint=True, blocks=45),
    "lists": mean("v", joint=True, blocks=45),
    "lists, samples": mean("v", joint=True, blocks=dm.SampledBlocks(21, size=100)),
}
OTHERS: dict[str, Callable[[Path], Any]] = {
    "variance": spread(),
    "variance, a number": spread(blocks=45),
    "variance, files": spread(blocks=dm.FileBlocks()),
    "variance, units": spread(blocks=dm.UnitBlocks("unit")),
    "variance, weights": spread(kernel="gini", weights="w"),
    "variance, one block": spread(blocks=1),
    "covariance": spread(["x", "y"], "covariance"),
    "covariance of lists": spread("v", "covariance"),
    "difference": lambda lake: dm.difference(lake, "x", by="arm", rng=0),
    "difference, files": lambda lake: dm.difference(lake, "x", by="arm", unit="file", rng=0),
    "difference, units": lambda lake: dm.difference(lake, "x", by="arm", unit="unit", rng=0),
    "compare": lambda lake: dm.compare(
        lake, "x", by="arm", statistics="mean", rng=0, test=dm.Permutations(19)
    ),
    "describe": lambda lake: dm.describe(lake, ["x"], rng=0),
}
TRUE = {"variance": 25.0, "variance, weights": 5.64, "covariance": 25.0, "difference": 0.0, "compare": 0.0}


def near(name: str, found: Any) -> bool:
    """Whether a value is that of the good rows: within what no clean lake of this size is off by."""
    if name in MEANS:
        return bool((np.abs(np.asarray(found.estimate) - CENTRE) < NEAR).all())
    if name == "describe":
        return bool(abs(found.numbers.estimate - CENTRE) < NEAR)
    true = TRUE.get(name, TRUE.get(name.split(",")[0].split(" of")[0]))
    assert true is not None
    return bool((np.abs(np.diag(np.atleast_2d(found.estimate)) - true) < max(NEAR, 0.2 * true)).all())


def one(found: Any) -> Any:
    return Results.of(found)[0] if not isinstance(found, dm.DescribeResult) else found[0]


@pytest.mark.one_in(12)
@pytest.mark.parametrize("name", [*MEANS, *OTHERS])
def test_the_word_means_repaired(name: str, lakes: Lakes, monkeypatch: pytest.MonkeyPatch) -> None:
    call = (MEANS | OTHERS)[name]
    assert one(call(lakes["clean"])).ok
    for lake in ("files", "codes"):
        found = one(call(lakes[lake]))
        beyond = "breakdown point exceeded" in found.flags
        assert beyond == found.status.no_answer
        if not beyond:
            assert near(name, found) and not found.ok
        else:  # elements of lists cannot be left out, and few files bear few bad ones
            assert "lists" in name or "files" in name
            assert "files disagree" not in found.flags
    if name in ("default", "describe") or "files" in name:
        return
    monkeypatch.setattr(survey.Surveyor, "_bad_files", lambda *_: ())  # negative control: nobody is named
    found = one(call(lakes["files"]))
    assert found.status == "breakdown point exceeded" or near(name, found)
    assert "files disagree" not in found.flags or near(name, found)
    assert getattr(found, "p_value", None) is None and np.isnan(getattr(found, "lift", np.nan))


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", ["default", "a number", "samples", "variance", "difference", "units"])
def test_what_may_be_sizes_of_another_order_is_told(name: str) -> None:
    """Two rows in a hundred of a log-normal column times 1,000 look like sizes, and stay in."""
    g = np.random.default_rng(0)
    x = np.exp(g.normal(size=20_000))
    arm, unit = np.where(g.random(x.size) < 0.5, "a", "b"), g.integers(0, 2_000, x.size)
    clean = {"x": x, "arm": arm, "unit": unit}
    damaged = {**clean, "x": np.where(g.random(x.size) < 0.02, 1_000.0 * x, x)}
    call: Callable[[Any], Any] = (MEANS | OTHERS)[name]
    found = one(call(damaged))
    assert "share far out" in found.flags and found.far_rows.action == "told"
    assert any("as often real as wrong" in text for text in found.remarks())
    assert "share far out" not in one(call(clean)).flags
