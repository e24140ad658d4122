"""`dm.describe`: its numbers against NumPy's and `dm.mean`'s, and the same bits however the work is cut."""

from __future__ import annotations

import datetime
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from mean_lakes import dirty_lake, same, write
from small_leaves import patch_leaves

import distmom as dm
from distmom.cluster import plan_units
from distmom.estimators.describe import question as describe_question
from distmom.estimators.mean import plan as mean_plan
from distmom.lake.source import FileRef
from distmom.numerics.median import lower_median

FIELDS = ("estimate", "interval", "plain_estimate", "status", "n_used", "n_null", "n_nan", "n_blocks")


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return dirty_lake(tmp_path_factory.mktemp("lake"))


def table_of(lake: Path) -> dict[str, np.ndarray]:
    """Each file's column x as floats, nulls as NaN; by path."""
    found = {}
    for path in sorted(lake.rglob("*.parquet")):
        column = pa.parquet.read_table(path, columns=["x"], partitioning=None)["x"]
        found[path.relative_to(lake).as_posix()] = column.to_numpy().astype(float)
    return found


def test_the_robust_numbers_are_those_of_the_mean(lake: Path) -> None:
    found = dm.describe(lake, rng=3)
    for mean in dm.mean(lake, ["x", "y", "u", "w"], rng=3):
        profile = found.columns[mean.column]
        for name in FIELDS:
            ours, theirs = getattr(profile, name), getattr(mean, name)
            assert ours == theirs or (math.isnan(ours) and math.isnan(theirs)), (mean.column, name)


def test_plain_numbers_against_numpy(lake: Path) -> None:
    profile = dm.describe(lake, "x", where="y > 9", rng=0).columns["x"]
    x, keep, null = [], [], 0
    for path in sorted(lake.rglob("*.parquet")):
        table = pa.parquet.read_table(path, columns=["x", "y"], partitioning=None)
        passed = table["y"].to_numpy() > 9
        null += int(np.asarray(table["x"].is_null())[passed].sum())
        x.append(table["x"].to_numpy().astype(float)[passed])
        keep.append(passed.sum())
    values = np.concatenate(x)
    used = values[~np.isnan(values)]
    assert (profile.n_rows, profile.n_null) == (sum(keep), null)
    assert (profile.n_used, profile.n_inf) == (used.size, np.isinf(used).sum())
    assert (profile.minimum, profile.maximum) == (used.min(), used.max())


def test_standard_deviations_and_gini() -> None:
    x = np.random.default_rng(0).exponential(size=30_000)
    profile = dm.describe(x, rng=0).columns["x"]
    assert profile.plain_std == pytest.approx(x.std(ddof=1), rel=1e-12)
    # 63 blocks of 476 rows, of 260 rows in the sample: standard errors are below 0.02 for both, so 5 of them
    # fail with probability below 1e-6; the median is low by about 0.5% for this distribution
    assert profile.robust_std == pytest.approx(1.0, abs=0.1)
    assert profile.gini == pytest.approx(1.0, abs=0.1)
    assert abs(profile.skewness_shift) < 5 * profile.skewness_noise
    x[::300] = 1e6  # a hundred outlying rows, which move the plain figures
    outlying = dm.describe(x, rng=0).columns["x"]
    assert outlying.status == "contaminated" and outlying.plain_std > 1e4
    assert outlying.robust_std == pytest.approx(1.0, abs=0.15) and outlying.gini == pytest.approx(
        1.0, abs=0.15
    )
    assert outlying.leaves_interval and outlying.sources == ()  # one file


def test_gini_is_the_median_of_block_means_over_pairs() -> None:
    from distmom.estimators.describe.answer import gini

    sample = np.random.default_rng(1).normal(size=1_000)
    blocks = sample[: 63 * 15].reshape(63, 15)
    slow = [np.mean([abs(a - b) for i, a in enumerate(block) for b in block[:i]]) for block in blocks]
    assert gini(sample, contaminated=False) == pytest.approx(float(lower_median(np.array(slow))), rel=1e-12)
    assert math.isnan(gini(sample[:1], contaminated=True))
    assert gini(np.array([1.0, 4.0]), contaminated=True) == 3.0


def test_contributions_add_up_to_the_gap(tmp_path: Path) -> None:
    g = np.random.default_rng(0)
    for i in range(20):
        x = g.normal(size=500 + 50 * i) + (1e4 if i in (3, 7) else 0.0)
        write(tmp_path / f"day={i % 4}" / f"{i:02}.parquet", {"x": x, "shop": g.integers(0, 3, x.size)})
    found = dm.describe(tmp_path, "x", by="shop", rng=0)
    profile = found.columns["x"]
    assert profile.discrepancy == profile.plain_estimate - profile.estimate > 0
    assert found.named_files == ("day=3/07.parquet", "day=3/03.parquet")  # the farthest first
    for kind in ("file", "folder", "unit"):
        mine = [s for s in profile.sources if s.kind == kind]
        assert sum(s.contribution for s in mine) == pytest.approx(profile.discrepancy, rel=0.01)
        assert sum(s.share for s in mine) == pytest.approx(1.0, abs=0.01)
    assert [s.name for s in profile.sources[:2]] == ["day=3/07.parquet", "day=3/03.parquet"]
    assert {s.name for s in profile.sources if s.kind == "unit"} == {"shop=0", "shop=1", "shop=2"}

    from distmom.estimators.describe.suspects import UnitFacts
    from distmom.estimators.describe.unit_tables import contributions

    n, mean = g.integers(1, 100, 50), g.normal(size=50)
    added = contributions(UnitFacts(n, n, mean, mean**2), 0.125)
    assert math.fsum(added) == pytest.approx(np.average(mean, weights=n) - 0.125, rel=1e-12)


def test_a_file_in_parts_has_the_facts_of_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    patch_leaves(monkeypatch)
    g = np.random.default_rng(2)
    for i in range(3):
        x = g.standard_t(3, 3_000)
        write(tmp_path / f"{i}.parquet", {"x": pa.array(x, mask=g.random(3_000) < 0.1), "t": ["a"] * 3_000})
    monkeypatch.setattr(mean_plan, "LARGE_FILE", 0)
    monkeypatch.setattr(mean_plan, "SHARES", 1e9)
    seen = []

    def parts(*args: Any, **options: Any) -> Any:
        seen.append(plan_units(*args, **{**options, "unit_bytes": 2_000, "leaf_rows": 64}))
        return seen[-1]

    right = dm.describe(tmp_path, rng=1, executor=dm.Threads(1))
    monkeypatch.setattr(mean_plan, "plan_units", parts)
    assert same(right, dm.describe(tmp_path, rng=1, executor=dm.Threads(2)))
    assert any(unit.rows is not None for unit in seen[-1])


def test_files_of_a_folder_are_taken_together_where_there_are_too_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    g = np.random.default_rng(0)
    for i in range(60):
        shift = 1e5 if i // 5 == 4 else 0.0
        write(tmp_path / f"day={i // 5:02}" / f"{i:02}.parquet", {"x": g.normal(size=100) + shift})
    monkeypatch.setattr(describe_question, "MOST_FILES", 20)
    found = dm.describe(tmp_path, rng=0, executor=dm.Threads(1))
    assert found.data["folders"] and [(u.kind, u.name) for u in found.named] == [("folder", "day=04")]
    assert {s.kind for s in found.columns["x"].sources} == {"folder"}
    assert "taken together" in str(found)
    for max_files in (1, 7):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                mean_plan, "plan_units", lambda *a, n=max_files, **k: plan_units(*a, **{**k, "max_files": n})
            )
            assert same(found, dm.describe(tmp_path, rng=0, executor=dm.Threads(2)))


def test_folders_are_taken_at_the_greatest_depth_that_is_few_enough() -> None:
    files = [FileRef(f"{a}/{b}/{c}.parquet", 1, 0) for a in "pq" for b in "rst" for c in range(4)]
    assert describe_question.number_files(files, 24).names == tuple(f.path for f in files)
    assert describe_question.number_files(files, 6 + 1).names == ("p/r", "p/s", "p/t", "q/r", "q/s", "q/t")
    assert describe_question.number_files(files, 3).names == ("p", "q")
    assert describe_question.number_files(files, 1).names == ("",)


def test_other_types_are_counted(tmp_path: Path) -> None:
    nested = pa.array([{"a": 1}, None, {"a": 3}])
    table = {
        "text": ["a", None, "b"],
        "when": pa.array([datetime.datetime(2024, 5, 1 + i) for i in range(3)]),
        "flag": [True, None, False],
        "list": pa.array([[1.0], None, [2.0, 3.0]]),
        "struct": nested,
        "nothing": pa.nulls(3),
        "blob": pa.array([b"x", b"y", None]),
        "gone": pa.array([None, None, None], pa.float64()),
    }
    write(tmp_path / "0.parquet", table)
    found = dm.describe(tmp_path, rng=0)
    assert {n: p.n_null for n, p in found.columns.items()} == {
        "text": 1,
        "when": 0,
        "flag": 1,
        "list": 1,
        "struct": None,
        "nothing": 3,
        "blob": 1,
        "gone": 3,
    }
    assert found.columns["when"].plain_estimate == datetime.datetime(2024, 5, 2)
    assert found.columns["when"].maximum == datetime.datetime(2024, 5, 3)
    assert found.columns["when"].plain_std == datetime.timedelta(days=1)
    assert found.columns["flag"].plain_estimate == 0.5
    assert found.columns["gone"].status == "no values" and found.exit_code == 0
    assert found.to_arrow().schema.field("leaves_interval").type == pa.bool_()  # a flag, not two ends
    for text in (str(found), str(found.to_dict()), str(found.to_arrow())):
        assert "nan" not in text.lower().replace("n_nan", "")
    assert dm.describe(tmp_path, ["text", "blob"], rng=0).columns["blob"].n_used == 2


def test_a_column_that_is_null_throughout_in_the_first_file(tmp_path: Path) -> None:
    write(tmp_path / "0.parquet", {"x": pa.nulls(4), "t": pa.nulls(4)})
    write(tmp_path / "1.parquet", {"x": [1.0, 2.0, None, 3.0], "t": ["a", "b", None, "c"]})
    found = dm.describe(tmp_path, rng=0)
    assert found.columns["x"].plain_estimate == 2.0 and found.columns["x"].n_null == 5
    assert (found.columns["t"].type, found.columns["t"].n_null) == ("string", 5)


def test_days_have_neither_signs_nor_ratios(tmp_path: Path) -> None:
    g = np.random.default_rng(0)
    for i in range(14):
        days = 0.5 if i == 3 else 500.0
        at = (days * 86_400e6 + 40e9 * g.normal(size=200)).astype("datetime64[us]")
        write(tmp_path / f"{i:02}.parquet", {"at": at})
    [unit] = dm.describe(tmp_path, rng=0).named
    assert unit.name == "03.parquet"
    assert unit.reasons[0].what == "mean" and unit.reasons[0].words.startswith("mean 1970-01-01")


def test_what_cannot_be_described_is_refused_in_a_line(lake: Path, tmp_path: Path) -> None:
    with pytest.raises(dm.ConfigError, match="no column 'z'"):
        dm.describe(lake, "z")
    with pytest.raises(dm.ConfigError, match="by: 'x' is also a column to describe"):
        dm.describe(lake, ["x", "y"], by="x")
    with pytest.raises(dm.NoAnswerError, match="no rows left after the filter"):
        dm.describe(lake, where="u > 2")
    write(tmp_path / "0.parquet", {"x": pa.array([], pa.float64())})
    with pytest.raises(dm.NoAnswerError, match="no rows"):
        dm.describe(tmp_path)


def test_memory_frames_and_streams() -> None:
    table = pa.table({"x": np.arange(100.0), "t": ["a"] * 100})
    right = dm.describe(table, rng=0)
    assert right.data["not_named"].startswith("fewer than 10 files")
    stream = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=7))
    assert same(right, dm.describe(stream, rng=0))


def test_infinities_come_first_and_are_null_in_json(tmp_path: Path) -> None:
    g = np.random.default_rng(0)
    for i in range(40):
        x = g.normal(size=300)
        x[0] = {5: np.inf, 9: -np.inf}.get(i, x[0])
        write(tmp_path / f"{i:02}.parquet", {"x": x})
    found = dm.describe(tmp_path, rng=0)
    profile = found.columns["x"]
    assert (profile.minimum, profile.maximum, profile.n_inf) == (-np.inf, np.inf, 2)
    assert abs(profile.estimate) < 0.1 and 0.9 < profile.robust_std < 1.1
    assert {s.name for s in profile.sources} == {"05.parquet", "09.parquet"} == set(found.named_files)
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert told["results"][0]["sources"][0]["share"] is None and told["results"][0]["maximum"] is None
    assert "05.parquet" in str(found)


def test_a_dask_frame_is_described_by_its_partitions() -> None:
    import dask.dataframe as dd
    import pandas as pd

    frame = pd.DataFrame({"x": np.arange(600.0), "t": ["a", None] * 300})
    found = dm.describe(dd.from_pandas(frame, npartitions=12), rng=0, executor=dm.Threads(2))
    assert found.columns["x"].plain_estimate == 299.5 and found.columns["t"].n_null == 300
    assert found.data["n_files"] == 12 and found.named == ()


def test_a_unit_in_all_files_is_named_and_no_file_is(tmp_path: Path) -> None:
    g = np.random.default_rng(0)
    for i in range(15):
        sensor = g.integers(0, 40, 600)
        x = g.normal(20.0, 5.0, 600)
        x = np.where(sensor == 17, -x, x)
        t = pa.array(g.normal(size=600), mask=(sensor == 23) & (g.random(600) < 0.7))
        write(tmp_path / f"{i:02}.parquet", {"x": x, "t": t, "sensor": sensor, "kind": sensor % 2})
    found = dm.describe(tmp_path, ["x", "t"], by=["sensor", "kind"], rng=0)
    assert [(u.kind, u.name) for u in found.named] == [
        ("unit", "sensor=17, kind=1"),
        ("unit", "sensor=23, kind=1"),
    ]
    assert [r.what for u in found.named for r in u.reasons] == ["sign", "missing"]
    alone = dm.describe(tmp_path, ["x", "t"], rng=0)
    assert alone.named == () and [p.estimate for p in alone] == [p.estimate for p in found]


def test_a_part_of_a_file_is_found_in_the_second_look(tmp_path: Path) -> None:
    g = np.random.default_rng(0)
    for i in range(12):
        x = g.normal(5.0, 1.0, 1_000)
        if i == 4:
            x[300:500] *= 1_000.0
        write(tmp_path / f"{i:02}.parquet", {"x": x}, row_group_size=100)
    [unit] = dm.describe(tmp_path, rng=0).named
    assert unit.name == "04.parquet"
    assert unit.parts == ("x: only row groups 3 to 4 of 10 (rows 300 to 499)",)


def test_a_bad_file_is_skipped_and_told(tmp_path: Path) -> None:
    for i in range(3):
        write(tmp_path / f"{i}.parquet", {"x": np.arange(50.0)})
    (tmp_path / "1.parquet").write_bytes(b"nonsense")
    with pytest.raises(dm.DataError, match=r"1\.parquet"):
        dm.describe(tmp_path)
    found = dm.describe(dm.scan(tmp_path, on_bad_file="skip"), rng=0)
    assert found.exit_code == 4 and found.columns["x"].n_rows == 100


def test_a_profile_takes_random_blocks_only_and_its_plan_the_same_arguments() -> None:
    x = np.random.default_rng(0).normal(size=500)
    many = dm.describe(x, blocks=dm.RandomBlocks(fine="many"), rng=0, confidence_level=0.95)
    assert many.columns["x"].n_rows == 500 and "fine='many'" in many.run["call"]["code"]
    for blocks in (9, "paper", dm.FileBlocks(), dm.RandomBlocks(chunk_rows=5)):
        with pytest.raises(dm.ConfigError, match=r"blocks: .*RandomBlocks\(fine='many'\)"):
            dm.describe(x, blocks=blocks)
    with pytest.raises(dm.ConfigError, match="nan: "):
        dm.describe(dm.scan(x, nan="keep"))
    with pytest.raises(TypeError, match=r"fine: now blocks=.*RandomBlocks"):
        dm.describe(x, fine="many")  # type: ignore[call-arg]
    told = dm.explain(dm.describe, {"x": x, "name": ["a"] * 500}, rng=1)
    assert (told["n_columns"], told["n_measured"], told["seed"], told["skipped"]) == (2, 1, 1, [])


def test_values_far_outside_are_named_and_screened_out() -> None:
    g = np.random.default_rng(4)
    n = 50_000
    x = g.normal(20.0, 2.0, n)
    x[g.choice(n, n // 100, replace=False)] = -9999.0
    [spoiled, clean] = dm.describe({"x": x, "y": np.where(x == -9999.0, 20.0, x)}, rng=0)
    far = spoiled.far_rows
    assert spoiled.status == "share screened out" and far is not None
    assert far.share_interval[0] < 0.01 < far.share_interval[1] and far.values[0][0] == -9999.0
    [text] = spoiled.remarks()
    assert "-9,999 in " in text and "a usual code for missing" in text and "where='x != -9999'" in text
    # of 16,384 sampled rows: 6 standard errors of the median of block means (1.25 of a mean's)
    good = x[x != -9999.0]
    assert abs(spoiled.estimate - good.mean()) < 6 * 1.25 * 2.0 / math.sqrt(16_000)
    assert spoiled.robust_std == pytest.approx(2.0, rel=0.05)
    assert spoiled.gini == pytest.approx(2.0 * 2.0 / math.sqrt(math.pi), rel=0.05)
    assert spoiled.n_used == n and spoiled.plain_estimate == pytest.approx(x.mean())
    assert clean.far_rows is None and clean.ok and clean.without_extremes
    told = json.loads(json.dumps(spoiled.to_dict()))
    assert told["far_rows"]["values"][0][0] == -9999.0 and len(told["without_extremes"]) == 4


@pytest.mark.slow
def test_quantiles_hold_those_of_all_rows() -> None:
    """Exact intervals: of 300 one is wrong with probability 1%, so more than 14 with one of 10^-6."""
    g = np.random.default_rng(9)
    misses = wrong = 0
    for seed in range(30):
        x = g.lognormal(0.0, 1.0, 20_000)
        [profile] = dm.describe(x, rng=seed)
        for one in profile.quantiles:
            misses += not one.low <= np.quantile(x, one.share) <= one.high
            wrong += not one.low <= np.quantile(x, min(one.share + 0.02, 1.0)) <= one.high
        assert profile.quantiles[4].share == 0.5
    assert misses <= 14 and wrong > 200


def test_far_values_and_quantiles_of_times_are_times() -> None:
    x = np.datetime64("2024-01-01", "us") + np.arange(4_000).astype("m8[h]")
    x[::50] = np.datetime64("1900-01-01", "us")
    [profile] = dm.describe({"t": x}, rng=0)
    told = profile.to_dict()
    assert told["quantiles"][4]["value"].startswith("2024-")
    assert told["far_rows"]["values"][0][0].startswith("1900-01-01")
    assert isinstance(profile.quantiles[4].value, datetime.datetime)
    assert "1900-01-01" in profile.remarks()[0] and "where=" not in profile.remarks()[0]


def test_more_values_than_fit_are_refused_in_one_line() -> None:
    """They were held whatever the limit: 400,000 values took 1.3 GB where 600 MB were allowed."""
    n = 100_000
    data = pa.table({"x": np.random.default_rng(0).normal(size=n), "k": np.arange(n)})
    few = dm.Threads(1, memory_limit="300MB")
    with pytest.raises(dm.ResourceError, match=r"^by: there are more than the [\d,]+ groups that fit"):
        dm.describe(data, by="k", rng=0, executor=few)
    data = data.set_column(1, "k", pa.array(np.arange(n) % 100))
    assert len(dm.describe(data, by="k", rng=0, executor=few)) == 1
