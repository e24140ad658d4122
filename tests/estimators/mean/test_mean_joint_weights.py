"""Weighted mean vectors: against weighted means of their columns, equal weights, and coverage."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from flat import flat
from mean_lakes import results, same, write

import distmom as dm
from distmom.cli.program import program
from distmom.numerics.linalg.geometric_median import geometric_median
from distmom.theory.bounds import width_factor
from distmom.theory.vectors import vector_factor

JOINT = pytest.mark.parametrize("joint", ["geometric", "coordinatewise"])

LAYOUTS: dict[str, dict[str, Any]] = {
    "automatic": {},
    "thirty-five blocks": {"n_blocks": 35},
    "stored": {"n_blocks": 9, "order": "stored"},
    "chunks": {"n_blocks": 9, "chunk_rows": 16},
    "units": {"block_by": "u"},
    "files": {"block_by": "file"},
    "contamination": {"contamination": 2},
    "groups": {"by": "k"},
}


def rows_of(n: int, seed: int = 0, sigma: float = 1.0) -> dict[str, Any]:
    """Two values and a weight, each of them missing in some rows, and whether a row has both values."""
    g = np.random.default_rng(seed)
    x, y, w = g.standard_t(4, n) + 2.0, g.exponential(size=n), g.lognormal(0.0, sigma, n)
    w[g.random(n) < 0.1] = 0.0
    missing = [g.random(n) < 0.05 for _ in range(3)]
    x[g.random(n) < 0.02] = np.nan
    columns: dict[str, Any] = {
        name: pa.array(values, mask=gone, from_pandas=False)
        for name, values, gone in zip("xyw", (x, y, w), missing, strict=True)
    }
    both = ~missing[0] & ~missing[1] & ~np.isnan(x)
    lists = [[a, b] if known else None for a, b, known in zip(x, y, both, strict=True)]
    return {
        **columns,
        "v": pa.array(lists, pa.list_(pa.float64())),
        "both": both,
        "k": g.integers(0, 3, n),
        "u": g.integers(0, 200, n),
    }


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("weighted_vectors")
    for i in range(12):
        write(folder / f"{i:02}.parquet", rows_of(200 + 31 * i, i))
    return folder


@JOINT
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.one_in(9)
def test_blocks_are_the_weighted_ones_of_the_columns(lake: Path, layout: dict[str, Any], joint: str) -> None:
    """The slow way: a weighted run for each column, over the rows that have both values."""
    options = {"rng": 3, "weights": "w", **layout}
    found = results(flat(dm.mean)(lake, ["x", "y"], joint=joint, **options))
    columns = [results(flat(dm.mean)(lake, name, where="both", **options)) for name in ("x", "y")]
    for vector, *alone in zip(found, *columns, strict=True):
        first = alone[0]
        for name in ("n_used", "n_blocks", "block_size", "n_zero_weight", "n_effective", "weights"):
            if name != "n_zero_weight":  # the filter drops some of these
                assert getattr(vector, name) == getattr(first, name), name
        np.testing.assert_allclose(vector.block_estimates.T, [r.block_estimates for r in alone], rtol=1e-12)
        np.testing.assert_allclose(vector.plain_estimate, [r.plain_estimate for r in alone], rtol=1e-12)
        lost = vector.n_null + vector.n_nan + vector.n_unweighted + vector.n_zero_weight
        assert vector.columns == ("x", "y") and vector.column == "x, y"
        assert vector.n_rows == vector.n_used + lost
        if joint == "geometric":
            assert vector.estimate.tolist() == geometric_median(vector.block_estimates).point.tolist()
        else:
            np.testing.assert_allclose(vector.estimate, [r.estimate for r in alone], rtol=1e-12)


@pytest.mark.parametrize("sigma", [0.05, 1.0], ids=["equal blocks", "unequal blocks"])
def test_the_radius_counts_effective_rows(sigma: float) -> None:
    """Columns and vector have the same deviation of a block mean; only the factor is another."""
    g = np.random.default_rng(0)
    data = {"x": g.normal(size=6_000), "y": g.normal(size=6_000), "w": g.lognormal(0.0, sigma, 6_000)}
    options: dict[str, Any] = {"weights": "w", "n_blocks": 11, "rng": 1}
    found = flat(dm.mean)(data, ["x", "y"], joint=True, **options)
    alone = flat(dm.mean)(data, ["x", "y"], interval="cantelli", **options)
    halves = [(r.interval[1] - r.interval[0]) / 2 for r in alone]
    scale = vector_factor(11, 0.01, equal=sigma < 0.1) / width_factor(11, 0.01)
    assert found.radius == pytest.approx(math.hypot(*halves) * scale, rel=0.05 if sigma < 0.1 else 1e-9)
    assert found.trace == pytest.approx(2.0, rel=0.1 if sigma < 0.1 else 0.2)
    assert found.n_effective == pytest.approx(6_000 / math.exp(sigma**2), rel=0.2)


@JOINT
@pytest.mark.parametrize("options", [{}, {"n_blocks": 9}, {"by": "k"}, {"block_by": "u"}], ids=str)
def test_equal_weights_change_nothing(options: dict[str, Any], joint: str) -> None:
    data = rows_of(3_000)
    data["w"] = np.full(3_000, 0.25)
    weighted = results(flat(dm.mean)(data, ["x", "y"], joint=joint, weights="w", rng=0, **options))
    plain = results(flat(dm.mean)(data, ["x", "y"], joint=joint, rng=0, **options))
    for a, b in zip(weighted, plain, strict=True):
        for name in ("estimate", "radius", "intervals", "block_estimates", "plain_estimate", "trace"):
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


def test_layouts_of_work_states_and_streams_have_the_same_bits(lake: Path, tmp_path: Path) -> None:
    grouped = {"by": "k", "joint": "coordinatewise"}
    for column, options in ((["x", "y"], {}), ("v", {}), (["x", "y"], grouped)):
        options = {"joint": True, "weights": "w", "rng": 0, **options}
        found = dm.mean(lake, column, **options)
        assert same(found, flat(dm.mean)(lake, column, batch_rows=17, threads=3, **options))
        state = tmp_path / f"{len(list(tmp_path.iterdir()))}.state"
        assert same(found, dm.mean(lake, column, state=state, **options))
        assert same(found, dm.merge_states(state))
    table = pa.table(rows_of(5_000))
    stream = dm.MeanAccumulator(["x", "y"], weights="w", joint=True, rng=0)
    for start in range(0, 5_000, 700):
        stream.update(table.slice(start, 700))
    again = dm.MeanAccumulator.from_bytes(stream.to_bytes())
    assert again.result() == dm.mean(table, ["x", "y"], weights="w", joint=True, rng=0)


@pytest.mark.slow
@pytest.mark.parametrize("automatic", [False, True], ids=["eleven blocks", "automatic"])
def test_the_ball_covers(automatic: bool) -> None:
    """Values grow with the weights, so the unweighted mean is another one, and its ball a control.

    More than 8 misses in 200 runs have probability 2e-4 at 99%.
    """
    n, missed, control = 2_000, 0, 0
    mean = np.array([math.exp(0.5 * 1.5**2) / math.exp(0.5), 0.0])  # E w^1.5 / E w, and 0
    for seed in range(200):
        g = np.random.default_rng([7, seed])
        w = g.lognormal(0.0, 1.0, n)
        data = {"x": np.sqrt(w), "y": g.standard_t(3, n), "w": w}
        options: dict[str, Any] = {"joint": True, "rng": seed} | ({} if automatic else {"n_blocks": 11})
        found = flat(dm.mean)(data, ["x", "y"], weights="w", threads=1, **options)
        missed += np.linalg.norm(found.estimate - mean) > found.radius
        other = flat(dm.mean)(data, ["x", "y"], threads=1, **options)
        control += np.linalg.norm(other.estimate - mean) > other.radius
    assert missed <= 8 and control >= 100


def test_what_is_shown_and_what_is_refused(lake: Path) -> None:
    args = ["mean", str(lake), "-c", "x", "-c", "y", "--joint", "geometric", "--weights", "w", "--json"]
    shown = CliRunner().invoke(program, args)
    assert shown.exit_code == 0, shown.output
    told = json.loads(shown.output)["results"][0]
    assert told["weights"] == "w" and told["n_effective"] < told["n_used"]
    found = dm.mean(lake, ["x", "y"], weights="w", joint=True, rng=0)
    assert found.to_arrow()["n_zero_weight"].to_pylist() == [found.n_zero_weight] * 2
    assert "of weight zero" in str(found) and "without a weight" in str(found)
    with pytest.raises(dm.DataError, match="weights: column 'v' holds lists"):
        dm.mean(lake, ["x", "y"], weights="v", joint=True)
    with pytest.raises(dm.ConfigError, match="cannot be combined with weights"):
        dm.mean(lake, ["x", "y"], weights="w", joint=True, blocks=dm.SampledBlocks())
