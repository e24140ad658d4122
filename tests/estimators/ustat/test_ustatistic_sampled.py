"""`dm.ustatistic` on samples: the functions it is made of, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from gather_lakes import all_rows, row_source, sampled_tuples
from mean_lakes import dirty_lake, same, write
from paper_numbers import morm_blocks

import distmom as dm
from distmom.numerics.random.philox import resolve_seed, stream_key
from distmom.numerics.random.tuple_draws import sample_tuples
from distmom.numerics.samples.row_samples import RowSamples
from distmom.passes import draws
from distmom.theory.resampled import resampled_margin
from distmom.theory.variances import row_inverse_inclusion

SEED = resolve_seed(7)[0]
PAIRS: dict[str, Any] = {"pairs": dm.SampledPairs(400), "blocks": 5}
BLOCKS: dict[str, Any] = {"blocks": dm.SampledBlocks(9, 60)}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return dirty_lake(tmp_path_factory.mktemp("lake"))


def run(data: Any, column: Any = "y", **options: Any) -> Any:
    given = {"kernel": "gini", "rng": 7, "executor": dm.Threads(1), **options}
    return dm.ustatistic(data, given.pop("column", column), **given)


def lower(values: Any) -> float:
    return float(np.sort(values)[(len(values) + 1) // 2 - 1])


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize(("name", "columns"), [("gini", ["x"]), ("kendall", ["y", "u"])])
def test_sampled_pairs_are_sample_means(lake: Path, replace: bool, name: str, columns: list[str]) -> None:
    found = run(lake, columns, kernel=name, pairs=dm.SampledPairs(400, replace), blocks=5)
    values, nulls = all_rows(lake, columns)
    bad = np.isnan(values).any(axis=1)
    kernel = dm.kernels.named(name)
    rows, expected, n_pairs = kernel.as_sample(values), [], 0
    for block in range(5):
        drawn = sample_tuples(stream_key(SEED, "pairs"), block, (len(bad),), (2,), 400, replace=replace)
        first, second = (side[~bad[drawn[0]] & ~bad[drawn[1]]] for side in drawn)
        with np.errstate(invalid="ignore"):
            expected.append(kernel.value(rows[first], rows[second]).mean())
        n_pairs += first.size
    assert found.block_estimates == pytest.approx(np.array(expected), rel=1e-10)
    assert found.estimate == pytest.approx(lower(expected), rel=1e-10)
    scheme = "monte_carlo" if replace else "swor"
    assert (found.n_pairs, found.n_used, found.scheme) == (n_pairs, (~bad).sum(), scheme)
    assert found.n_null == nulls.any(axis=1).sum() and found.n_rows == len(bad)
    said = f"{2000 - n_pairs} of 2,000 pairs drawn"
    assert any(said in note for note in found.notes) == bool(bad.any())


def test_the_interval_is_the_bound_for_samples(lake: Path) -> None:
    found = run(lake, "u", **PAIRS)
    with row_source(lake, "u") as source:
        samples = sampled_tuples(dm.kernels.gini(), [source], SEED, 5, 400)[0]
    half = samples.margin(0.01, (source.n_rows,))
    assert found.interval == (found.estimate - half, found.estimate + half)
    assert found.interval_kind == "cantelli" and found.status == "ok"
    assert found.to_dict()["n_pairs"] == 2000 and run(lake, "u", **PAIRS, interval="none").interval is None


@pytest.mark.slow
def test_default_numbers_and_a_filter(lake: Path) -> None:
    found = run(lake, "u", pairs=dm.SampledPairs(replace=True), where="u > 0.5")
    values = all_rows(lake, ["u"])[0][:, 0]
    passing = int((values > 0.5).sum())
    share = (passing * (passing - 1)) / (len(values) * (len(values) - 1))
    n_blocks = 1060
    # ten times the rows that pass would do; ten million rows drawn allow less
    wanted = n_blocks * min(10 * passing, int(10_000_000 * share) // (2 * n_blocks))
    assert found.n_blocks == n_blocks and found.n_rows == found.n_used == passing
    assert abs(found.n_pairs / wanted - 1.0) < 0.01  # 1e6 pairs at random: 0.1%
    inside = values[values > 0.5]
    complete = np.abs(np.subtract.outer(inside, inside)).sum() / (passing * (passing - 1))
    assert found.interval[0] < complete < found.interval[1]
    by_paper = run(lake, "u", pairs=dm.SampledPairs(replace=True), where="u > 0.5", blocks="paper")
    assert same(found, by_paper)  # their number is that of the proposition anyway


def test_non_finite_constant_and_few_rows() -> None:
    x = np.random.default_rng(0).normal(size=400)
    x[0] = np.inf
    found = run(x, None, pairs=dm.SampledPairs(20), blocks=41)
    assert 0 < found.n_non_finite_blocks < 21 and np.isfinite(found.estimate)
    assert found.interval is None and "non-finite" in found.interval_reason
    with pytest.raises(dm.NoAnswerError, match="blocks are non-finite"):
        run(x, None, pairs=dm.SampledPairs(5_000), blocks=5)
    same_values = run(np.full(50, 3.0), None, **PAIRS)
    assert (same_values.estimate, same_values.interval) == (0.0, (0.0, 0.0)) and same_values.notes
    with pytest.raises(dm.NoAnswerError, match="takes 2"):
        run(np.array([1.0]), None, **PAIRS)
    few = run(np.array([1.0, np.nan, 2.0, np.nan]), None, pairs=dm.SampledPairs(1), blocks=40)
    assert 0 < few.n_blocks < 40 and few.estimate == 1.0 and "without a tuple" in few.notes[0]


def test_bad_files_are_left_out_or_heard(tmp_path: Path) -> None:
    g = np.random.default_rng(0)
    for i in range(20):
        write(tmp_path / f"{i:02}.parquet", {"x": g.normal(size=500) + 1e6 * (i == 3)})
    assert run(tmp_path, "x", **PAIRS).flags == ("files disagree",)
    (tmp_path / "03.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(dm.DataError, match=r"03\.parquet"):
        run(tmp_path, "x", **PAIRS)
    found = run(dm.scan(tmp_path, on_bad_file="skip"), "x", **PAIRS)
    assert found.n_rows == 9_500 and len(found.data["skipped"]) == 1


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("where", [None, "u > 0.3"])
@pytest.mark.parametrize("form", ["u", "v"])
@pytest.mark.one_in(3)
def test_samples_of_rows_are_those_of_the_mean(
    lake: Path, replace: bool, where: str | None, form: str
) -> None:
    design = dm.SampledBlocks(9, 60, replace=replace)
    found = run(lake, blocks=design, where=where, statistic=form)
    mean = dm.mean(lake, "y", blocks=design, where=where, rng=7)
    assert (found.block_size, found.n_used) == (mean.block_size, mean.n_used)
    columns = all_rows(lake, ["y", "u"])[0]
    n, n_passing = len(columns), mean.n_rows
    numbers = RowSamples(SEED, file_rows(lake), round(60 * n / n_passing), replace).numbers(0, 9)
    expected, n_pairs = [], 0
    for block in numbers:
        rows = columns[block][columns[block][:, 1] > 0.3] if where else columns[block]
        m = len(rows)
        expected.append(np.abs(np.subtract.outer(rows[:, 0], rows[:, 0])).sum() / (m * (m - (form == "u"))))
        n_pairs += m * (m - 1) // 2
    assert found.block_estimates == pytest.approx(np.array(expected), rel=1e-10)
    assert found.estimate == pytest.approx(lower(expected), rel=1e-10)
    assert found.n_pairs == n_pairs


def file_rows(lake: Path) -> np.ndarray:
    with row_source(lake, "y") as source:
        return source.rows


@pytest.mark.parametrize("replace", [False, True])
def test_the_interval_of_samples_of_rows(lake: Path, replace: bool) -> None:
    """Of variances (x - y)^2/2 at normal rows: (mu_4 - (B - 3)/(B - 1))/B = 2/(B - 1)."""
    x = np.random.default_rng(1).normal(size=20_000)
    found = run(x, None, kernel="variance", blocks=dm.SampledBlocks(501, 400, replace=replace))
    n = x.size
    a = row_inverse_inclusion(n, 400, replacement=replace)
    variance = 2 / 399 + (2 / n if replace else 0.0)
    right = resampled_margin(variance, 501, a, 0.01)
    half = found.interval[1] - found.estimate
    assert half == pytest.approx(right, rel=0.1)  # the median of 501 estimates, biased low by a few per cent
    assert found.sigma1_squared == pytest.approx(0.5, rel=0.1) and found.interval_kind == "cantelli"


def test_numbers_and_interval_of_the_proposition() -> None:
    x = np.random.default_rng(2).normal(size=3_000)
    options: dict[str, Any] = {"interval": "closed-form", "confidence_level": 0.9}
    found = run(x, None, blocks=dm.SampledBlocks(tau=0.3), **options)
    k, size = morm_blocks(0.9, 0.3, 3_000, 2)
    assert (found.n_blocks, found.block_size) == (k, (size, size))
    assert found.interval[1] > found.interval[0]
    other = run(x, None, blocks=dm.SampledBlocks(5, 100), **options)
    assert other.interval is None and "the proposition holds for" in other.interval_reason


def test_samples_of_few_rows() -> None:
    x = np.arange(12.0)
    x[3:] = np.nan
    found = run(x, None, blocks=dm.SampledBlocks(40, 5))
    assert 0 < found.n_blocks < 40 and "without a tuple" in found.notes[0]
    with pytest.raises(dm.NoAnswerError, match="use at most 12"):
        run(x, None, blocks=dm.SampledBlocks(40, 13))
    outlying = np.random.default_rng(3).normal(size=2_000)
    outlying[:9] = np.inf
    found = run(outlying, None, blocks=dm.SampledBlocks(101, 20))
    assert found.n_non_finite_blocks > 0 and abs(found.estimate - 1.128) < 0.2 and found.interval is None


def test_several_passes_give_the_same_values(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = run(lake, **PAIRS)
    monkeypatch.setattr(draws, "MOST_ROWS", 900)
    assert np.array_equal(run(lake, **PAIRS).block_estimates, right.block_estimates)


@pytest.mark.parametrize("options", [PAIRS, BLOCKS, {**PAIRS, "interval": "none"}])
@pytest.mark.one_in(2)
def test_several_columns_are_each_as_if_alone(
    lake: Path, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = ["x", "y", "u"]
    alone = [run(lake, column, **options) for column in columns]
    assert len({(one.n_null, one.n_nan, one.n_pairs) for one in alone}) > 1  # not the same rows are missing
    together = run(lake, columns, **options)
    assert [one.column for one in together] == columns
    assert all(same(one, other) for one, other in zip(alone, together, strict=True))
    monkeypatch.setattr(draws, "MOST_ROWS", 900)  # a pass for each sample, one column at a time
    alone = [run(lake, column, **options) for column in columns]
    assert all(same(one, other) for one, other in zip(alone, run(lake, columns, **options), strict=True))


def test_a_dry_run_tells_the_samples(lake: Path) -> None:
    plan = dm.explain(dm.ustatistic, lake, "y", kernel="gini", **PAIRS)
    assert (plan["n_blocks"], plan["n_pairs"], plan["tuples_one_by_one"]) == (5, 400, 2000)
    assert (plan["rows_drawn"], plan["scheme"], plan["pairs"], plan["passes"]) == (
        4000,
        "swor",
        "incomplete",
        1,
    )
    both = dm.explain(dm.ustatistic, lake, ["y", "u"], kernel="gini", **PAIRS)
    told = ("n_blocks", "n_pairs", "tuples_one_by_one", "rows_drawn", "passes")
    assert [both[name] for name in told] == [plan[name] for name in told]
    plan = dm.explain(dm.ustatistic, lake, ["y", "u"], kernel="distance", **BLOCKS)
    assert (plan["n_blocks"], plan["block_size"], plan["tuples_one_by_one"]) == (9, 60, 9 * 60 * 59 // 2)
    assert (
        plan["rows_drawn"] == 540
        and dm.explain(dm.ustatistic, lake, "y", kernel="gini", **BLOCKS)["passes"] == 1
    )
    assert dm.explain(dm.ustatistic, lake, ["y", "u"], kernel="gini", **BLOCKS)["passes"] == 2
    assert plan["affordable"] is None
    few = dm.CompletePairs(99)
    plan = dm.explain(dm.ustatistic, lake, ["y", "u"], kernel="distance", pairs=few, **BLOCKS)
    assert "a smaller size" in plan["affordable"] and "SampledPairs" in plan["affordable"]
    plan = dm.explain(dm.ustatistic, lake, ["y", "u"], kernel="distance", pairs=few, blocks=3)
    assert "blocks or more" in plan["affordable"]


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "order": ({**PAIRS, "interval": "order"}, "only the median given the data; use interval='cantelli'"),
    "its old word": ({"pairs": "incomplete"}, "is now 'sampled', or SampledPairs"),
    "groups": ({**PAIRS, "by": "key"}, "one group at a time"),
    "size": ({**PAIRS, **BLOCKS}, "without a size"),
    "v": ({**PAIRS, "statistic": "v"}, "not paired with themselves"),
    "paper": ({**PAIRS, "interval": "closed-form"}, "no bound"),
    "tau": ({**PAIRS, "blocks": dm.SampledBlocks(5, tau=0.3)}, "drop one"),
    "matrix": ({**PAIRS, "kernel": "covariance", "column": ["x", "y"]}, "use RandomBlocks"),
    "two samples": ({**PAIRS, "kernel": "auc"}, "give a list of two lakes"),
    "too many": ({"pairs": dm.SampledPairs(10**9), "blocks": 5}, r"use SampledPairs\(replace=True\)"),
    "budget": ({"pairs": dm.SampledPairs(400, budget=1999), "blocks": 5}, "exceed the budget of 2e"),
    "one row": ({"blocks": dm.SampledBlocks(9, 1)}, "use at least 2"),
    "order of blocks": ({**BLOCKS, "interval": "order"}, "only the median given the data"),
    "dear blocks": (
        {**BLOCKS, "kernel": "distance", "pairs": dm.CompletePairs(9), "column": ["y", "u"]},
        "a smaller size",
    ),
    "stored": (
        {**PAIRS, "blocks": dm.StoredBlocks(5)},
        r"StoredBlocks\(5\) cannot be combined "
        r"with SampledPairs",
    ),
    "repeats": ({**PAIRS, "blocks": dm.RandomBlocks(5, repeats=3)}, "drawn from all rows"),
    "dear": (
        {"kernel": "distance", "column": ["y", "u"], "pairs": dm.CompletePairs(99)},
        "SampledPairs, which draws some",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused_in_one_line(lake: Path, name: str) -> None:
    options, words = REFUSED[name]
    with pytest.raises(dm.ConfigError, match=words) as refused:
        run(lake, **options)
    assert "\n" not in str(refused.value)


def test_streams_are_refused() -> None:
    with pytest.raises(dm.ConfigError, match="read only once"):
        run(pa.table({"y": np.arange(9.0)}).to_reader(), **PAIRS)


def test_tuples_of_four_rows() -> None:
    """The range of four uniform rows is 3/5 on average, with the variance 1/25: drawn tuples find it.

    The values of 51 samples of 400 tuples have the standard error 0.01 each: their median is within 0.012 but
    for a probability below 1e-6. The control is the mean range of three, 1/2.
    """
    four = dm.kernels.kernel(
        lambda a, b, c, d: (
            np.maximum(np.maximum(a, b), np.maximum(c, d)) - np.minimum(np.minimum(a, b), np.minimum(c, d))
        ),
        degree=4,
    )
    x = np.random.default_rng(4).random(40_000)
    found = dm.ustatistic(x, kernel=four, rng=0, pairs=dm.SampledPairs(400), blocks=51)
    assert abs(found.estimate - 0.6) < 0.012 < abs(0.5 - 0.6)
    assert found.n_pairs == 51 * 400 and found.interval[0] < 0.6 < found.interval[1]
    disjoint = dm.ustatistic(x, kernel=four, rng=0, blocks=9, pairs="disjoint")
    assert abs(disjoint.estimate - 0.6) < 0.02 and disjoint.n_pairs > 9_900
