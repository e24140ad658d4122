"""The plan of a U-statistic: what it tells is what is done, and what footers forbid is refused unread."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from mean_lakes import write

import distmom as dm
from distmom import kernels
from distmom.errors import ConfigError, NoAnswerError


class Untouched:
    """A progress that no pass over rows may begin."""

    def begin(self, n_units: int, n_bytes: int) -> None:
        raise AssertionError("rows are read")

    def advance(self, n_rows: int, n_bytes: int) -> None: ...

    def end(self) -> None: ...


@pytest.fixture(scope="module")
def lakes(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    root, g = tmp_path_factory.mktemp("plans"), np.random.default_rng(0)
    for name, n in (("a", 300), ("b", 200)):
        for i in range(2):
            write(root / name / f"{i}.parquet", {"x": g.normal(size=n), "y": g.normal(size=n)})
    return [root / "a", root / "b"]


ROWS: dict[str, Any] = {"blocks": dm.SampledBlocks(5, 40)}
TEN = dm.CompletePairs(10)
MMD = kernels.mmd(1.0)

REFUSED: dict[str, tuple[int, dict[str, Any], type[Exception], str]] = {
    "too many pairs": (1, {"kernel": kernels.rbf(1.0), "pairs": TEN}, ConfigError, "the budget of 10;"),
    "of two samples": (2, {"kernel": MMD, "blocks": 5, "pairs": TEN}, ConfigError, "5 blocks of 1,000"),
    "of samples of rows": (
        1,
        {"kernel": kernels.rbf(1.0), "pairs": TEN, **ROWS},
        ConfigError,
        "5 blocks of 200 rows",
    ),
    "of samples of rows of two lakes": (
        2,
        {"kernel": MMD, "pairs": TEN, **ROWS},
        ConfigError,
        "5 blocks of 200 rows",
    ),
    "of samples of pairs": (
        1,
        {"kernel": "gini", "pairs": dm.SampledPairs(9, budget=10), "blocks": 5},
        ConfigError,
        "5 samples of 9 pairs",
    ),
    "samples larger than the lake": (
        1,
        {"kernel": "gini", "blocks": dm.SampledBlocks(5, 601)},
        NoAnswerError,
        "601 rows without replacement from 600",
    ),
    "more pairs than there are": (
        2,
        {"kernel": "auc", "pairs": dm.SampledPairs(240_001), "blocks": 5},
        ConfigError,
        "240,001 without repeats",
    ),
    "a level out of reach": (
        2,
        {"kernel": "auc", "blocks": "paper", "confidence_level": 1.0 - 1e-90},
        ConfigError,
        "confidence",
    ),
}


@pytest.mark.parametrize("case", list(REFUSED))
def test_what_is_refused_before_a_row_is_read(lakes: list[Path], case: str) -> None:
    n_samples, options, error, words = REFUSED[case]
    data: Any = lakes[0] if n_samples == 1 else lakes
    with pytest.raises(error, match=words), dm.options(progress=Untouched()):
        dm.ustatistic(data, "x", rng=0, executor=dm.Threads(1), **options)


@pytest.mark.parametrize(
    "options", [{"kernel": "gini"}, {"kernel": "variance", "blocks": dm.SampledBlocks(5, 9)}]
)
def test_a_stream_is_refused_before_it_is_read(options: dict[str, Any]) -> None:
    schema = pa.schema([("x", pa.float64())])

    def batches() -> Any:
        raise AssertionError("rows are read")
        yield

    stream = pa.RecordBatchReader.from_batches(schema, batches())
    with pytest.raises(ConfigError, match="a stream can be read only once"):
        dm.ustatistic(stream, "x", rng=0, **options)


@pytest.mark.parametrize(
    "options",
    [
        {"kernel": kernels.rbf(1.0), "blocks": 7},
        {"kernel": "gini", **ROWS},
        {"kernel": "gini", "pairs": dm.SampledPairs(70), "blocks": 5},
        {"kernel": "gini", "pairs": "disjoint", "blocks": 7},
    ],
)
def test_complete_rows_are_used_as_the_plan_tells(lakes: list[Path], options: dict[str, Any]) -> None:
    plan = dm.explain(dm.ustatistic, lakes[0], "x", rng=0, **options)
    found = dm.ustatistic(lakes[0], "x", rng=0, **options)
    assert plan["n_rows"] == found.n_rows == 600
    assert plan["n_blocks"] == found.n_blocks
    if plan["tuples_one_by_one"]:
        assert plan["tuples_one_by_one"] == found.n_pairs
    if plan["block_size"]:
        assert found.block_size == (plan["block_size"],) * 2
