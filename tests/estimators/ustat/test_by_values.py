"""Samples of a kernel that are values of a column of one lake, or conditions: what two lakes give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import distmom as dm

G = np.random.default_rng(0)
N = 4_000
LABEL = G.random(N) < 0.3
ROWS = {
    "score": G.normal(size=N) + LABEL,
    "other": G.normal(size=N),
    "label": LABEL,
    "level": np.where(LABEL, "high", np.where(G.random(N) < 0.5, "low", "middle")),
    "half": np.arange(N) % 2,
}
AUC: dict[str, Any] = {"kernel": "auc", "rng": 0}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three files, each with rows of both labels."""
    folder, table = tmp_path_factory.mktemp("scores"), pa.table(ROWS)
    for i in range(3):
        pq.write_table(table.slice(i * 1_400, 1_400), folder / f"{i}.parquet")
    return folder


def brute(x: np.ndarray, y: np.ndarray) -> float:
    rank = np.searchsorted(np.sort(x), y, side="left") + np.searchsorted(np.sort(x), y, side="right")
    return float(np.mean(rank / (2 * x.size)))


@pytest.mark.parametrize("kernel", ["auc", "mean-difference", "energy", dm.kernels.mmd(1.0)])
def test_values_are_as_two_conditions(lake: Path, kernel: Any) -> None:
    found = dm.ustatistic(lake, "score", kernel=kernel, by="label", rng=0)
    right = dm.ustatistic(lake, "score", kernel=kernel, where=["label == false", "label == true"], rng=0)
    assert (found.estimate, found.interval) == (right.estimate, right.interval)
    assert found.samples == ("label = False", "label = True") and right.samples == (
        "label == false",
        "label == true",
    )
    assert found.n_used_by_sample == (int((~LABEL).sum()), int(LABEL.sum()))
    assert found.data["n_files"] == right.data["n_files"] == 3  # a file of both samples is one
    assert not found.group and found.status == "ok"


def test_it_is_the_auc_of_the_score(lake: Path) -> None:
    plain = brute(ROWS["score"][~LABEL], ROWS["score"][LABEL])
    found = dm.ustatistic(lake, "score", by="label", blocks=1, **AUC)
    assert found.plain_estimate == pytest.approx(plain, abs=1e-12)
    turned = dm.ustatistic(lake, "score", by={"label": [True, False]}, blocks=1, **AUC)
    assert turned.plain_estimate == pytest.approx(1 - plain, abs=1e-12)
    both = dm.ustatistic(lake, ["score", "other"], by="label", **AUC)
    assert [one.estimate for one in both] == pytest.approx([0.76, 0.5], abs=0.03)
    compared = dm.compare(lake, "score", by="label", statistics="auc", rng=0, test=dm.Permutations(99))
    assert compared.samples == found.samples == (compared.first, compared.second)


def test_two_of_more_values_rows_of_others_and_nulls() -> None:
    with pytest.raises(dm.ConfigError, match="has 3 values, high, low, middle; name two of them"):
        dm.ustatistic(ROWS, "score", by="level", **AUC)
    found = dm.ustatistic(ROWS, "score", by={"level": ["low", "high"]}, **AUC)
    assert found.notes == (f"left out: {int((ROWS['level'] == 'middle').sum()):,} rows of neither sample",)
    holes = {**ROWS, "label": pa.array([None if i < 50 else bool(one) for i, one in enumerate(LABEL)])}
    assert "50 rows of neither sample" in dm.ustatistic(holes, "score", by="label", **AUC).notes[0]
    with pytest.raises(dm.NoAnswerError, match="has no two values"):
        dm.ustatistic(ROWS, "score", by="label", where="label == true", **AUC)
    with pytest.raises(dm.ConfigError, match=r"no 'hihg' in column 'level'.*did you mean 'high'"):
        dm.ustatistic(ROWS, "score", by={"level": ["low", "hihg"]}, **AUC)


def test_three_samples_are_three_values() -> None:
    between = dm.kernels.kernel(lambda x, y, z: (x < y) & (y < z), degree=(1, 1, 1))
    options: dict[str, Any] = {"kernel": between, "rng": 0, "pairs": dm.SampledPairs(500), "blocks": 9}
    found = dm.ustatistic(ROWS, "other", by="level", **options)
    assert found.samples == ("level = high", "level = low", "level = middle")
    assert found.estimate == pytest.approx(1 / 6, abs=0.05)


def test_groups_of_samples_are_asked_by_conditions(lake: Path) -> None:
    found = dm.ustatistic(lake, "score", by="half", where=["label == false", "label == true"], **AUC)
    for one, half in zip(found, (0, 1), strict=True):
        alone = dm.ustatistic(lake, "score", by="label", where=f"half = {half}", **AUC)
        assert one.group == {"half": half} and one.n_used_by_sample == alone.n_used_by_sample
    lakes = dm.ustatistic([ROWS, ROWS], "score", by="half", **AUC)  # two lakes: groups, as ever
    assert [one.group for one in lakes] == [{"half": 0}, {"half": 1}]
    one_lake = [lake / "0.parquet", lake / "1.parquet"]  # two files, but values make it one lake
    assert dm.ustatistic(one_lake, "score", by={"label": [False, True]}, **AUC).n_used > 2_000


@pytest.mark.parametrize(
    "more",
    [
        {"pairs": "disjoint"},
        {"pairs": dm.SampledPairs(300), "blocks": 11},
        {"blocks": dm.SampledBlocks(11, size=500)},
        {"blocks": dm.UnitBlocks("other", 9)},
        {"weights": "half"},
    ],
)
def test_every_design(lake: Path, more: dict[str, Any]) -> None:
    found = dm.ustatistic(lake, "score", by="label", **AUC, **more)
    right = dm.ustatistic(lake, "score", where=["label == false", "label == true"], **AUC, **more)
    assert found.estimate == right.estimate and abs(found.estimate - 0.76) < 0.08


def test_a_plan_refuses_what_the_run_refuses(lake: Path) -> None:
    plan = dm.explain(dm.ustatistic, lake, "score", by="label", **AUC)
    assert plan["n_rows"] == 2 * N and plan["kernel"] == "auc"
    for by, words in (("lable", "no column 'lable'"), (["label", "half"], "must be one column")):
        with pytest.raises(dm.ConfigError, match=words):
            dm.explain(dm.ustatistic, lake, "score", by=by, **AUC)
    with pytest.raises(dm.ConfigError, match="one lake with by='column'"):
        dm.ustatistic(lake, "score", **AUC)
    with pytest.raises(dm.ConfigError, match="takes one sample"):
        dm.ustatistic(lake, "score", kernel="gini", by={"label": [0, 1]})
    with pytest.raises(dm.ConfigError, match="must be two values of column 'label'"):
        dm.ustatistic(lake, "score", by={"label": [0]}, **AUC)
