"""``dm.compare``: two lakes, two conditions, two values of a column; estimates, intervals and tests."""

from __future__ import annotations

import datetime as dt
import pickle
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from mean_lakes import write

import distmom as dm
from distmom.estimators.compare.answer import holm
from distmom.estimators.compare.permuted import exchangeable
from distmom.lake.filters import GroupFilter
from distmom.numerics.random.philox import words
from distmom.reductions.row_sample import ShuffledSample

NINES = dm.Permutations(999)
WIDTH_1 = ("mean", "auc", "energy", dm.kernels.mmd(1.0), dm.kernels.mmd(1.0, "laplace"))
ALL = ("mean", "auc", "energy", "mmd", "mmd-laplace")


def normal(seed: int, n: int, scale: float = 1.0, shift: float = 0.0) -> dict[str, Any]:
    return {"x": shift + scale * np.random.default_rng(seed).normal(size=n)}


def by_name(results: Any) -> dict[str, Any]:
    return {r.compared_by: r for r in results}


def test_estimates_are_those_of_u_statistics() -> None:
    pair = [normal(1, 3_000), normal(2, 2_000, shift=0.5)]
    found = by_name(dm.compare(pair, "x", statistics=WIDTH_1, test=NINES, rng=3))
    kernels = {
        "mean": dm.kernels.mean_difference(),
        "auc": dm.kernels.auc(),
        "energy": dm.kernels.energy(),
        "mmd": dm.kernels.mmd(1.0),
        "mmd-laplace": dm.kernels.mmd(1.0, "laplace"),
    }
    for name, kernel in kernels.items():
        right = dm.ustatistic(pair, "x", kernel=kernel, rng=3)
        assert (found[name].estimate, found[name].plain_estimate) == (right.estimate, right.plain_estimate)
        assert found[name].drifted and found[name].p_value == 1 / 1_000
        assert found[name].interval == right.interval
    assert found["mean"].estimate == pytest.approx(0.5, abs=0.15)
    low, high = found["mean"].interval
    assert low < 0.5 < high


def test_what_kind_of_drift_it_is() -> None:
    """A change of scale moves neither mean nor AUC; energy distance and discrepancy see it."""
    pair = [normal(3, 4_000), normal(4, 4_000, scale=1.3)]
    found = by_name(dm.compare(pair, "x", statistics=ALL, test=NINES, rng=0))
    assert [name for name, r in found.items() if r.drifted] == ["energy", "mmd", "mmd-laplace"]
    assert str(found["energy"]).splitlines()[-1].endswith("first and second differ")


@pytest.mark.parametrize("n_runs", [2, pytest.param(40, marks=pytest.mark.slow)])
def test_equal_distributions_do_not_drift_and_give_no_misleading_interval(n_runs: int) -> None:
    """Adjusted p-values of 40 runs at the level 0.99: Bin(40, 0.01) exceeds 5 once in 4e5."""
    drifted = 0
    for seed in range(n_runs):
        pair = [normal(2 * seed + 100, 700), normal(2 * seed + 101, 900)]
        results = dm.compare(pair, "x", test=NINES, rng=seed)
        drifted += any(r.drifted for r in results)
        found = by_name(results)
        assert found["mean"].interval is not None and found["auc"].interval is not None
        if not found["energy"].drifted:
            assert (
                found["energy"].interval is None
                and "the same distribution" in found["energy"].interval_reason
            )
    assert drifted <= min(5, n_runs - 1)


def test_independent_samples_of_many_rows_are_near_zero() -> None:
    """Energy and discrepancies of 100,000 + 100,000 rows: their size is 1/n, so 20/n is far in the tail."""
    pair = [normal(11, 100_000), normal(12, 100_000)]
    found = dm.compare(
        pair, "x", statistics=("energy", "mmd-laplace"), test=dm.Permutations(999, 3_000), rng=0
    )
    for r in found:
        assert abs(r.plain_estimate) < 20 / 100_000 and abs(r.estimate) < 9 * 20 / 100_000
        assert r.p_value > 1e-3 and not r.drifted


@pytest.mark.slow
def test_the_discrepancy_of_many_rows_is_near_zero_too() -> None:
    (r,) = dm.Results.of(dm.compare([normal(11, 100_000), normal(12, 100_000)], "x", statistics="mmd", rng=0))
    assert abs(r.plain_estimate) < 20 / 100_000 and not r.drifted


@pytest.mark.slow
def test_outlying_rows_move_neither_estimates_nor_the_level() -> None:
    pair = [normal(5, 6_000), normal(6, 6_000, shift=0.3)]
    right = by_name(dm.compare(pair, "x", test=NINES, rng=0))
    pair[0]["x"][:3] = 1e9
    found = by_name(dm.compare(pair, "x", test=NINES, rng=0))
    for name in ("mean", "auc"):
        low, high = right[name].interval
        assert low < found[name].estimate < high
    assert not -1.0 < found["mean"].plain_estimate < 1.0  # the negative control
    assert found["auc"].drifted
    pair[0]["x"][:3] = np.inf
    found = by_name(dm.compare(pair, "x", test=NINES, rng=0, blocks=101))
    assert found["auc"].drifted and found["mean"].p_value is None
    assert "infinite" in str(found["mean"])


@pytest.mark.slow
def test_whole_units_are_permuted() -> None:
    """Days with an effect of their own: rows seem to drift, days do not; one shift of all days is found."""
    day = np.repeat(np.arange(60), 100)
    half = day < 30
    options: dict[str, Any] = {"statistics": "mean", "test": NINES, "rng": 0}
    wrong = 0
    for seed in range(5):
        g = np.random.default_rng(seed)
        x = g.normal(size=60)[day] + g.normal(size=day.size)
        table = [{"x": x[side], "day": day[side]} for side in (half, ~half)]
        wrong += dm.compare(table, "x", **options).drifted  # the negative control
        units = dm.compare(table, "x", blocks=dm.UnitBlocks("day"), **options)
        assert units.p_value > 1e-3  # once in 200 runs of five it would not be
    assert wrong >= 3
    assert units.n_test_units == (30, 30) and units.n_units == 60
    table[1]["x"] = table[1]["x"] + 3.0
    assert dm.compare(table, "x", blocks=dm.UnitBlocks("day"), **options).drifted


def test_three_files_against_three_can_tell_nothing(tmp_path: Path) -> None:
    for side, shift in (("a", 0.0), ("b", 9.0)):
        (tmp_path / side).mkdir()
        for i in range(3):
            write(tmp_path / side / f"{i}.parquet", normal(i, 300, shift=shift))
    found = dm.compare(
        [tmp_path / "a", tmp_path / "b"], "x", statistics="mean", blocks=dm.FileBlocks(3), rng=0
    )
    assert found.smallest_p == 1 / 20 and found.p_value >= 0.04 and not found.drifted
    assert "3 and 3 units" in str(found)


SIDES = pa.table(
    {
        "x": np.concatenate([normal(20, 2_000)["x"], normal(21, 3_000, shift=0.4)["x"]]),
        "side": ["it's a"] * 2_000 + ["b"] * 3_000,
        "k": [1] * 2_000 + [2] * 3_000,
    }
)


def test_samples_are_lakes_conditions_or_values() -> None:
    options: dict[str, Any] = {"test": dm.Permutations(99), "statistics": ("mean", "energy"), "rng": 1}
    right = dm.compare(SIDES, "x", where=["k = 1", "k = 2"], **options)
    assert [(r.first, r.second) for r in right] == [("k = 1", "k = 2")] * 2
    assert right[0].n_used_by_sample == (2_000, 3_000)
    for found in (
        dm.compare(SIDES, "x", by="k", **options),
        dm.compare(SIDES, "x", by="side", samples=["it's a", "b"], **options),
        dm.compare(SIDES, "x", by="k", where=pc.field("x") < 99, **options),
        dm.compare([SIDES, SIDES], "x", where=["k = 1", "k = 2"], **options),
    ):
        assert [r.estimate for r in found] == [r.estimate for r in right]
        assert [r.p_value for r in found] == [r.p_value for r in right]
    back = dm.compare(SIDES, "x", by="side", **options)  # 'b' is the first
    assert (back[0].first, back[0].second) == ("side = b", "side = it's a")
    assert back[0].estimate < 0 < right[0].estimate


def test_rows_and_files_are_told_once(tmp_path: Path) -> None:
    """A file of both samples is one; of two lakes with the same names each has its own."""
    i = np.arange(3_000)
    x = [None if k % 100 == 0 else float(k % 13) for k in i]
    table = pa.table({"x": x, "arm": [["a", "b", "c", None][k % 4] for k in i], "day": i % 10})
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        for k in range(3):
            pq.write_table(table.slice(1_000 * k, 1_000), tmp_path / name / f"{k}.parquet")
        (tmp_path / name / "3.parquet").write_text("no Parquet")
    one, two = tmp_path / "one", tmp_path / "two"
    options: dict[str, Any] = {"statistics": "auc", "test": dm.Permutations(99), "rng": 0}

    def counts(found: Any) -> tuple[int, ...]:
        files, skipped = found.data["n_files"], len(found.data["skipped"])
        return found.n_rows, found.n_used, found.n_null, files, skipped

    found: Any = dm.compare(
        dm.scan(one, on_bad_file="skip"), "x", by="arm", samples=["a", "b"], where="day < 5", **options
    )
    passing = i[i % 10 < 5]
    mine = passing[passing % 4 < 2]
    n_null = int((mine % 100 == 0).sum())
    assert counts(found) == (mine.size, mine.size - n_null, n_null, 4, 1)
    assert found.notes[-1] == f"left out: {passing.size - mine.size:,} rows of neither sample"
    assert found.run["call"]["function"] == "compare" and found.run["call"]["arguments"]["by"] == "arm"
    assert counts(dm.compare(dm.scan(one, on_bad_file="skip"), "x", where=["day < 5", "day > 5"], **options))[
        3:
    ] == (4, 1)
    both: Any = dm.compare([dm.scan(lake, on_bad_file="skip") for lake in (one, two)], "x", **options)
    assert counts(both) == (6_000, 5_940, 60, 8, 2)


def test_several_columns_are_adjusted_together() -> None:
    a, b = ({**normal(s, 2_000), "y": normal(s + 50, 2_000, shift=0.5 * s)["x"]} for s in (0, 1))
    found = dm.compare([a, b], ["x", "y"], statistics=("mean", "auc"), rng=0)
    assert [r.name for r in found] == ["x mean", "x auc", "y mean", "y auc"]
    assert [r.p_holm for r in found] == holm([r.p_value for r in found])
    assert [r.drifted for r in found] == [False, False, True, True]
    table = found.to_arrow()
    assert table["drifted"].to_pylist() == [False, False, True, True]
    assert table["n_test_rows"].to_pylist() == [4_000] * 4
    assert pickle.loads(pickle.dumps(found[0])) == found[0]
    told = found[2].to_dict()
    assert (told["p_value"], told["drifted"], told["compared_by"]) == (1e-4, True, "mean")


def test_holm() -> None:
    assert holm([0.01, None, 0.04, 0.03]) == pytest.approx([0.03, None, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]


def sample(n: int, n_units: int, seed: int) -> ShuffledSample:
    numbers = np.sort(words(seed, 0, n))
    return ShuffledSample(
        10**6, numbers, np.arange(float(n)), words(seed, 1, n_units)[np.arange(n) % n_units]
    )


@pytest.mark.parametrize("sizes", [(10_000, 10_000), (10_000, 45), (300, 20), (7, 3), (1, 5_000)])
def test_units_of_the_test_are_of_equal_size(sizes: tuple[int, int]) -> None:
    units = exchangeable((sample(sizes[0], 1, 1), sample(sizes[1], 1, 2)), by_units=False)
    assert units.n_units <= 800 and np.unique(units.counts).size == 1
    second = units.n_units - units.n_first
    assert min(units.n_first, second) >= min(20, *sizes)
    units = exchangeable((sample(5_000, 50, 1), sample(5_000, 25, 2)), by_units=True)
    assert (units.n_first, units.n_units) == (50, 75)
    assert units.counts.sum() == 10_000


@pytest.fixture(scope="module")
def lakes(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Nulls, NaN, an empty file, small row groups."""
    folder = tmp_path_factory.mktemp("lakes")
    for side, n in (("a", 9), ("b", 7)):
        (folder / side).mkdir()
        for i in range(n):
            g = np.random.default_rng([n, i])
            x = g.normal(size=0 if i == 3 else 150 + 31 * i)
            x[::53] = np.nan
            columns = {"x": pa.array(x, mask=np.arange(x.size) % 41 == 7), "u": g.integers(0, 40, x.size)}
            write(folder / side / f"{i}.parquet", columns, row_group_size=64)
    return [folder / "a", folder / "b"]


def run(lakes: list[Path], **options: Any) -> Any:
    wanted = {"test": dm.Permutations(99, 300), "rng": 7, "executor": dm.Threads(1), **options}
    wanted.setdefault("statistics", ("auc", "energy"))
    return dm.compare(lakes, "x", **wanted)


def test_the_rows_of_the_test_are_uniform(lakes: list[Path]) -> None:
    """600 draws of 5 of 10 rows: each row 300 times; 5 standard errors are 61, exceeded once in 2e6."""
    from distmom.reductions.accumulate.leaves import Rows
    from distmom.reductions.row_sample import SampleRows

    met = np.zeros(10)
    for seed in range(600):
        sampler = SampleRows(5, seed).begin(1)
        sampler.start_file(0, "f")
        sampler.add(Rows(0, 10, (np.arange(10.0),), (None,), None, None), 1)
        found = sampler.result([()])
        met[found.values.astype(int)] += 1
        assert np.unique(found.values).size == 5
    assert np.abs(met - 300).max() < 61


X = normal(0, 200)


@pytest.mark.parametrize(
    ("data", "options", "words_"),
    [
        (X, {}, ["data", "two lakes"]),
        ([X, X], {"statistics": "ks"}, ["statistics", "'ks'", "energy"]),
        ([X, X], {"statistics": ()}, ["statistics", "none"]),
        ([X, X], {"statistics": dm.kernels.gini()}, ["statistics", "dm.kernels.mmd(bandwidth)"]),
        ([X, X], {"test": 99}, ["test", "dm.Permutations"]),
        ([X, X], {"test": dm.Permutations(rows=10**7)}, ["test: rows", "10,000,000"]),
        ([X, X], {"blocks": dm.StoredBlocks(5)}, ["blocks", "UnitBlocks", "StoredBlocks(5)"]),
        ([X, X], {"blocks": dm.RandomBlocks(repeats=3)}, ["blocks", "distmom.ustatistic"]),
        ([X, dm.scan(X, nan="keep")], {}, ["nan", "'omit'", "'keep'"]),
        (dm.scan(X, where="x > 0"), {"where": ["x > 0", "x < 0"]}, ["where", "scan"]),
        ([X, X], {"interval": "closed-form"}, ["interval", "'closed-form'"]),
        (X, {"where": ["x > 0"]}, ["where", "two"]),
        (SIDES, {"by": "k", "where": ["x > 0", "x < 0"]}, ["where", "by"]),
        (SIDES, {"by": "side", "samples": ["c", "b"]}, ["samples", "'c'"]),
        (SIDES, {"by": "x"}, ["by"]),
        (SIDES, {"by": ["k", "side"]}, ["by", "must be a column's name"]),
        (SIDES, {"samples": ["a", "b"]}, ["samples", "by"]),
        (SIDES, {"by": "k", "samples": [1, 1]}, ["samples", "two values"]),
    ],
)
def test_refusals_are_one_line(data: Any, options: dict[str, Any], words_: list[str]) -> None:
    with pytest.raises(dm.ConfigError) as error:
        dm.compare(data, "x", **{"rng": 0, **options})
    assert "\n" not in str(error.value)
    for word in words_:
        assert word in str(error.value)


def test_times_texts_and_missing_samples() -> None:
    days = {"x": np.arange(200).astype("datetime64[s]")}
    with pytest.raises(dm.DataError, match="kernels take numbers"):
        dm.compare([days, days], "x")
    with pytest.raises(dm.NoAnswerError):
        dm.compare(SIDES, "x", where=["k = 1", "k = 3"])
    with pytest.raises(dm.NoAnswerError, match="no two values"):
        dm.compare(SIDES, "x", by="k", where="k = 1")


def test_the_plan_reads_no_row(lakes: list[Path]) -> None:
    told = dm.explain(dm.compare, lakes, "x", statistics=("mean", "energy"), rng=0)
    assert told["n_files"] == 16 and told["statistics"] == ["mean", "energy"]
    assert dm.explain(dm.compare, SIDES, "x", by="k")["test_rows"] == 10_000


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Decimal("0.10"), Decimal("2.50")),
        (float("nan"), 1.5),
        (dt.timedelta(hours=1), dt.timedelta(0)),
        (b"\xff'", b""),
        (dt.date(2024, 2, 29), dt.date(1969, 12, 31)),
        (dt.datetime(2024, 2, 29, 1, 2, 3, 4), dt.datetime(1900, 1, 1)),
        (True, False),
        ('it\'s `a` "b"', ""),
    ],
    ids=str,
)
@pytest.mark.parametrize("where", [None, "x > -9", pc.field("x") > -9])
@pytest.mark.one_in(15)
def test_samples_are_values_of_any_type(first: Any, second: Any, where: Any, tmp_path: Path) -> None:
    arms = pa.array([first if k == 1 else second for k in SIDES["k"].to_pylist()])
    table = SIDES.append_column('an "arm" `x`', arms)
    options: dict[str, Any] = {"statistics": "mean", "test": dm.Permutations(99), "rng": 1}
    pq.write_table(table, tmp_path / "0.parquet", row_group_size=700)
    for data in (table, tmp_path):
        right = dm.compare(data, "x", where=["k = 1", "k = 2"], **options)
        scan = dm.scan(data, where=where)
        for samples in ([first, second], [str(first), str(second)]):
            found = dm.compare(scan, "x", by='an "arm" `x`', samples=samples, **options)
            assert (found.estimate, found.p_value, found.n_used) == (right.estimate, right.p_value, 5_000)


def test_values_of_folders_are_samples(tmp_path: Path) -> None:
    for arm in ("1", "2", "3"):
        write(tmp_path / f"arm={arm}" / "0.parquet", normal(int(arm), 500))
    options: dict[str, Any] = {"statistics": "mean", "test": dm.Permutations(99), "rng": 1}
    right = dm.compare(tmp_path, "x", where=["arm = 2", "arm = 1"], **options)
    found = dm.compare(tmp_path, "x", by="arm", samples=[2, 1], **options)
    assert (found.first, found.second) == ("arm = 2", "arm = 1")
    assert (found.estimate, found.n_used) == (right.estimate, 1_000)
    assert found.notes[-1] == "left out: 500 rows of neither sample"
    narrow = GroupFilter("arm", (1, 2), "2")
    assert [narrow.excludes({"arm": pa.array([v])}) for v in (2, 1, None, "2")] == [False, True, True, True]


def test_two_scans_have_their_own_conditions() -> None:
    options: dict[str, Any] = {"statistics": "mean", "test": dm.Permutations(99), "rng": 1}
    right = dm.compare(SIDES, "x", where=["k = 1", "k = 2"], **options)
    found = dm.compare([dm.scan(SIDES, where="k = 1"), dm.scan(SIDES, where="k = 2")], "x", **options)
    assert found.estimate == right.estimate and (found.first, found.second) == ("k = 1", "k = 2")
    with pytest.raises(dm.ConfigError, match="stream can be read only once"):
        dm.compare(SIDES.to_reader(), "x", where=["k = 1", "k = 2"], **options)
    for old in ("n_permutations", "bandwidth", "block_by", "pair_budget"):
        with pytest.raises(TypeError, match=f"{old}: now "):
            dm.compare(SIDES, "x", by="k", **{old: 1})


def test_the_call_of_two_scans_can_be_pasted_back() -> None:
    scans = [dm.scan(SIDES, where=pc.field("k") == 1), dm.scan(SIDES, where="k = 2")]
    found = dm.compare(scans, "x", statistics="mean", test=dm.Permutations(99), rng=1)
    assert found.run["call"]["code"] == (
        "dm.compare([dm.scan(<Table>, where=<Expression>), dm.scan(<Table>, where='k = 2')], 'x', "
        "statistics='mean', test=dm.Permutations(n=99, rows=10000), rng=1)"
    )
