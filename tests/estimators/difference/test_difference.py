"""`dm.difference`: against a slow twin in exact fractions, over layouts of work, and what it refuses."""

from __future__ import annotations

import pickle
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import rule_twin
from mean_lakes import cut_work, same, write
from small_leaves import patch_leaves

import distmom as dm
from distmom.estimators.mean import plan as mean_plan
from distmom.inference.variants.ratios import LEAST_UNITS, ROUNDS
from distmom.lake.keys.unit_hashes import UnitHashes
from distmom.numerics.random.philox import resolve_seed

LADDER = [5, 7, 9, 15, 21, 27, 35, 45, 63, 105, 135, 189, 315, 945]


def lower_median(values: list[Fraction]) -> Fraction:
    return sorted(values)[(len(values) + 1) // 2 - 1]


def located(finest: list[Fraction], k: int) -> tuple[float, float, float]:
    """The answer of the rule from its finest blocks, with its interval at 95%."""
    values = [float(v) for v in finest]
    size = len(values) // k
    means = [float(sum(finest[i * size : (i + 1) * size])) / size for i in range(k)]
    centre = rule_twin.lower_median(means)
    kept = [(1, v, 0.0) for v in values]
    estimate, about = rule_twin.location(kept, centre, k, rule_twin.mad(values) / len(values) ** 0.5)
    order, _ = rule_twin.order_interval([(1, m, 0.0) for m in means], 0.05, 0)
    ends = rule_twin.around(order, {"centre": centre, "estimate": estimate, "around": about}, 0.05)
    return estimate, ends[0], ends[1]


def merged(cells: list[Fraction], k: int) -> list[Fraction]:
    size = 945 // k
    return [sum(cells[i * size : (i + 1) * size], Fraction(0)) for i in range(k)]


class Twin:
    """One variant of clean data, unit by unit in Python integers and fractions."""

    def __init__(self, rows: list[tuple[int, int, int]], seed: int) -> None:
        units = sorted({unit for unit, _, _ in rows})
        hashes = UnitHashes(1, resolve_seed(seed)[0]).of([pa.array(units)]).tolist()
        cell = {unit: h * 945 // 2**64 for unit, h in zip(units, hashes, strict=True)}
        self.n = len(units)
        self.num, self.den = [Fraction(0)] * 945, [Fraction(0)] * 945
        for unit, numerator, denominator in rows:
            self.num[cell[unit]] += numerator
            self.den[cell[unit]] += denominator
        self.finest = max(k for k in LADDER if LEAST_UNITS * k <= self.n)
        k = self.level(self.n, self.finest)
        self.d = Fraction(located(merged(self.den, self.finest), k)[0]) / (945 // self.finest)
        quotients = zip(merged(self.num, self.finest), merged(self.den, self.finest), strict=True)
        self.ratio = lower_median([n / d for n, d in quotients if d > 0])
        for _ in range(ROUNDS):
            self.ratio = Fraction(located(self.blocks(self.finest), k)[0])

    @staticmethod
    def level(n: int, finest: int) -> int:
        """Blocks of the answer: the least level of at least max(9, sqrt(n)/4), up to 63.

        Levels are those into which the finest one divides.
        """
        n -= n % finest
        fit = [k for k in LADDER if finest % k == 0 and k >= 9 and (k >= 63 or 16 * k * k >= n)]
        return fit[0] if fit else finest

    def blocks(self, k: int) -> list[Fraction]:
        rest = [n - self.ratio * d for n, d in zip(self.num, self.den, strict=True)]
        return [self.ratio + t / (self.d * (945 // k)) for t in merged(rest, k)]


def experiment(seed: int, n_users: int = 3_000, with_zeros: bool = True) -> dict[str, Any]:
    """Whole numbers, several rows a user, users in either variant (a few in both), heavy users spend more."""
    g = np.random.default_rng(seed)
    user = np.repeat(np.arange(n_users), 1 + g.geometric(0.4, n_users))
    rows = np.bincount(user)[user]
    arm = np.where((user + (g.random(user.size) < 0.01)) % 2 == 0, "old", "new")
    spent = np.floor(20 * g.lognormal(size=user.size) * np.sqrt(rows)) + 7 * (arm == "new")
    return {
        "user": user,
        "arm": arm,
        "spent": spent,
        "views": g.integers(0 if with_zeros else 1, 5, user.size),
    }


def of_arm(data: dict[str, Any], arm: str, denominator: str | None) -> list[tuple[int, int, int]]:
    below = np.ones(data["user"].size) if denominator is None else data[denominator]
    mine = data["arm"] == arm
    return [
        (int(u), int(x), int(d))
        for u, x, d in zip(*(a[mine] for a in (data["user"], data["spent"], below)), strict=True)
    ]


@pytest.mark.parametrize("denominator", [None, "views"])
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.one_in(6)
def test_it_is_what_exact_fractions_give(denominator: str | None, seed: int) -> None:
    data = experiment(seed)
    found = dm.difference(
        data, "spent", by="arm", unit="user", denominator=denominator, control="old", rng=seed
    )
    old, new = (Twin(of_arm(data, arm, denominator), seed) for arm in ("old", "new"))
    assert found.status == "ok"
    assert (found.n_units_control, found.n_units_variant) == (old.n, new.n)
    k = Twin.level(min(old.n, new.n), min(old.finest, new.finest))
    apart = [b - a for a, b in zip(old.blocks(k), new.blocks(k), strict=True)]
    assert found.n_blocks == k
    assert found.block_estimates == pytest.approx([float(e) for e in apart], rel=1e-9)
    each = (one.blocks(min(old.finest, new.finest)) for one in (old, new))
    at, *ends = located([b - a for a, b in zip(*each, strict=True)], k)
    assert found.difference == pytest.approx(at, rel=1e-9)
    assert found.interval == pytest.approx(ends, rel=1e-9)
    assert (found.control_mean, found.variant_mean) == pytest.approx(
        (float(old.ratio), float(new.ratio)), rel=1e-9
    )
    plain = [sum(t.num) / sum(t.den) for t in (old, new)]
    assert found.plain_control == pytest.approx(float(plain[0]), rel=1e-13)
    assert found.plain_difference == pytest.approx(float(plain[1] - plain[0]), rel=1e-11)
    assert found.plain_lift == pytest.approx(float(plain[1] / plain[0] - 1), rel=1e-11)


def test_the_lift_is_fiellers() -> None:
    """Where the lift is L the rule finds that variant - (1 + L) control is 0, and at its ends it may be."""
    data = experiment(3)
    found = dm.difference(data, "spent", by="arm", unit="user", control="old", rng=3)
    old, new = (Twin(of_arm(data, arm, None), 3) for arm in ("old", "new"))
    each = [one.blocks(min(old.finest, new.finest)) for one in (old, new)]

    def at(lift: float) -> tuple[float, float, float]:
        rest = [b - (1 + Fraction(lift)) * a for a, b in zip(*each, strict=True)]
        return located(rest, found.n_blocks)

    assert found.lift_interval is not None and found.interval is not None
    low, high = found.lift_interval
    nothing = pytest.approx(0.0, abs=1e-9 * found.control_mean)
    assert at(found.lift)[0] == nothing
    assert at(low)[1] == nothing and at(high)[2] == nothing


def swapped(data: dict[str, Any], seed: int, **options: Any) -> tuple[Any, Any]:
    options = {"by": "arm", "rng": seed, **options}
    return tuple(dm.difference(data, "spent", control=control, **options) for control in ("old", "new"))


@pytest.mark.parametrize("options", [{}, {"unit": "user"}, {"unit": "user", "denominator": "views"}], ids=str)
def test_swapped_variants_negate_the_difference(options: dict[str, Any]) -> None:
    there, back = swapped(experiment(4), 4, **options)
    assert (there.variant, back.variant) == ("new", "old")
    assert back.difference == -there.difference
    assert back.interval == (-there.interval[1], -there.interval[0])
    assert back.plain_difference == -there.plain_difference
    assert (1 + back.lift) * (1 + there.lift) == pytest.approx(1, rel=1e-9)


def test_scale_shift_and_order_of_the_rows() -> None:
    data = experiment(5)
    options: dict[str, Any] = {"by": "arm", "unit": "user", "control": "old", "rng": 5}
    right = dm.difference(data, "spent", **options)
    doubled = dm.difference({**data, "spent": 4.0 * data["spent"]}, "spent", **options)
    assert doubled.difference == 4.0 * right.difference
    assert doubled.interval == (4.0 * right.interval[0], 4.0 * right.interval[1])
    assert doubled.lift == pytest.approx(right.lift, rel=1e-12)
    # a ratio of sums moves with its rows, whatever their number: the offset costs its own digits, no more
    shifted = dm.difference({**data, "spent": 1e6 + data["spent"]}, "spent", **options)
    assert shifted.difference == pytest.approx(right.difference, rel=1e-3)
    assert shifted.control_mean - 1e6 == pytest.approx(right.control_mean, rel=1e-3)
    order = np.random.default_rng(0).permutation(data["user"].size)
    mixed = dm.difference({name: values[order] for name, values in data.items()}, "spent", **options)
    assert mixed.difference == pytest.approx(right.difference, rel=1e-12)
    assert mixed.interval == pytest.approx(right.interval, rel=1e-12)


def test_outlying_units_of_both_variants_and_outlying_denominators_are_screened_out() -> None:
    data = experiment(6, 9_000)
    options: dict[str, Any] = {
        "by": "arm",
        "unit": "user",
        "denominator": "views",
        "control": "old",
        "rng": 6,
    }
    right = dm.difference(data, "spent", **options)
    outlying = {name: values.copy() for name, values in data.items()}
    outlying["spent"][data["user"] < 8] *= 1e6
    outlying["views"][(data["user"] >= 8) & (data["user"] < 12)] = 10**9
    found = dm.difference(outlying, "spent", **options)
    assert found.flags == ("contaminated", "share far out")
    assert 8 <= found.n_screened_out <= 12
    assert abs(found.difference - right.difference) < (right.interval[1] - right.interval[0]) / 2
    low, high = right.interval
    assert not low < found.plain_difference < high  # the negative control


def test_what_units_have_in_common_cancels() -> None:
    g = np.random.default_rng(7)
    effect = g.standard_t(3, 4_000)
    both = {
        "x": np.r_[effect, effect + 0.1] + 0.1 * g.normal(size=8_000),
        "arm": np.repeat(["a", "b"], 4_000),
    }
    paired, unpaired = (
        dm.difference({**both, "u": u}, "x", by="arm", unit="u", rng=0)
        for u in (np.tile(np.arange(4_000), 2), np.arange(8_000))
    )
    widths = [r.interval[1] - r.interval[0] for r in (paired, unpaired)]
    assert widths[0] < widths[1] / 5
    assert paired.interval[0] < 0.1 < paired.interval[1]


def test_several_variants_are_compared_with_the_first_or_with_the_one_named() -> None:
    g = np.random.default_rng(8)
    arm = pa.array(g.integers(1, 4, 6_000), mask=g.random(6_000) < 0.01)
    data = pa.table({"x": g.normal(10.0, 1.0, 6_000), "arm": arm})
    found = dm.difference(data, "x", by="arm", rng=0)
    assert [(r.control, r.variant) for r in found] == [(1, 2), (1, 3)]
    assert all(r.notes == (f"left out: {arm.null_count} rows without a variant",) for r in found)
    named = dm.difference(data, "x", by="arm", control="3", rng=0)
    assert [(r.control, r.variant) for r in named] == [(3, 1), (3, 2)]
    assert named[0].difference == -found[1].difference
    table = found.to_arrow()
    assert table["variant"].to_pylist() == ["2", "3"]
    assert table["difference"].to_pylist() == [r.difference for r in found]
    assert table["lift_interval_low"].to_pylist() == [r.lift_interval[0] for r in found]


def test_results_are_texts_pictures_and_pickles() -> None:
    found = dm.difference(experiment(9), "spent", by="arm", unit="user", denominator="views", rng=0)
    assert pickle.loads(pickle.dumps(found)) == found
    told = found.to_dict()
    assert told["difference"] == found.difference and told["interval"] == list(found.interval)
    assert (told["unit"], told["denominator"], told["by"]) == (["user"], "views", "arm")
    head, _, *lines, remark = str(found).splitlines()
    assert head.split()[:3] == ["spent", "/", "views"]
    assert remark.startswith(f"old − new: {found.n_units_in_both} units, 4.7% of the smaller variant's")
    assert [line.split("  ")[0] for line in lines] == ["old − new", "old / new − 1", "new", "old"]
    assert ">old − new: ok<" in found.plot().svg and ">difference in spent</text>" in found.plot().svg


ONE_THREAD = dm.Threads(1)

LAYOUTS: dict[str, dict[str, Any]] = {
    "rows": {},
    "units": {"unit": "user", "where": "views > 0"},
    "ratio of units": {"unit": ["user", "part"], "denominator": "views"},
    "files": {"unit": "file"},
}
EACH = pytest.mark.parametrize("options", LAYOUTS.values(), ids=LAYOUTS)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nulls, NaN, an infinity, an empty file, and a variant that some files lack."""
    folder = tmp_path_factory.mktemp("lake")
    data = experiment(0, 2_000)
    part = np.random.default_rng(1).integers(0, 60, data["user"].size)
    data["spent"][::97], data["spent"][55] = np.nan, np.inf
    for i in range(61):
        mine = part == i
        columns = {name: pa.array(values[mine]) for name, values in data.items()}
        columns["views"] = pa.array(data["views"][mine], mask=np.arange(mine.sum()) % 50 == 7)
        write(folder / f"part={i % 3}" / f"{i:02}.parquet", columns, row_group_size=40)
    return folder


def compare(lake: Any, options: dict[str, Any], executor: Any = ONE_THREAD, **how: Any) -> Any:
    data = dm.scan(lake, **how) if how else lake
    return dm.difference(data, "spent", **{"by": "arm", "rng": 7, "executor": executor, **options})


@EACH
@pytest.mark.slow
def test_the_bits_do_not_depend_on_how_the_work_is_done(
    lake: Path, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    patch_leaves(monkeypatch)
    right = compare(lake, options)
    for batch_rows in (7, 10**6):
        assert same(right, compare(lake, options, batch_rows=batch_rows)), batch_rows
    for cut in ({"max_files": 1}, {"unit_bytes": 15_000}):
        cut_work(monkeypatch, **cut)
        assert same(right, compare(lake, options, dm.Threads(3))), cut
    monkeypatch.setattr(mean_plan, "SMALL_BYTES", -1)
    assert same(right, compare(lake, options, dm.Threads(2), batch_rows=33))


def test_missing_values_are_counted_and_a_ratio_needs_both(lake: Path) -> None:
    whole = compare(lake, {})
    assert whole.n_nan > 0 and whole.n_inf == 1 and whole.n_non_finite_blocks == 1
    assert whole.n_used == whole.n_rows - whole.n_nan == whole.n_used_control + whole.n_used_variant
    ratio = compare(lake, {"denominator": "views"})
    assert ratio.n_null > 0 and ratio.n_used == ratio.n_rows - ratio.n_nan - ratio.n_null


def test_mostly_zeros_make_no_false_alarm() -> None:
    """One in a hundred buys: fine blocks of eight users would nearly all be zero, and the others outlying."""
    g = np.random.default_rng(10)
    arm = np.repeat(["a", "b"], 40_000)
    x = np.where(g.random(80_000) < 0.01, g.lognormal(3.0, 1.0, 80_000), 0.0)
    found = dm.difference({"x": x, "arm": arm}, "x", by="arm", rng=0)
    assert found.status == "ok"
    assert found.interval[0] < found.plain_difference < found.interval[1]
    assert found.interval[0] < 0.0 < found.interval[1]


def test_little_data_gets_the_sample_means_and_constants_their_value() -> None:
    arm = np.repeat(["a", "b"], 10)
    few = dm.difference({"x": np.arange(20.0), "arm": arm}, "x", by="arm", rng=0)
    assert (few.difference, few.flags, few.interval) == (10.0, ("sample mean, no guarantee",), None)
    assert "no interval: too few rows" in str(few) and "no lift" in str(few)
    same_arm = np.repeat(["a", "b"], 1_000)
    flat = dm.difference({"x": np.where(same_arm == "a", 2.0, 3.0), "arm": same_arm}, "x", by="arm", rng=0)
    assert (flat.difference, flat.interval, flat.lift, flat.status) == (1.0, (1.0, 1.0), 0.5, "ok")


def test_values_too_large_to_be_added_have_no_answer() -> None:
    arm = np.arange(4_000) % 2
    with pytest.raises(dm.NoAnswerError, match="half or more of the blocks are non-finite"):
        dm.difference({"x": np.where(np.arange(4_000) % 3, 1.7e308, -1.7e308), "arm": arm}, "x", by="arm")


def test_no_lift_without_a_clear_control() -> None:
    g = np.random.default_rng(11)
    data = {"x": g.normal(size=4_000), "arm": np.repeat(["a", "b"], 2_000)}
    found = dm.difference(data, "x", by="arm", rng=0)
    assert np.isnan(found.lift) and found.lift_interval is None and np.isnan(found.plain_lift)
    assert found.to_dict()["lift"] is None
    assert found.lift_reason == "the control's mean does not differ significantly from 0"
    quiet = dm.difference(data, "x", by="arm", rng=0, interval="none")
    assert quiet.interval is None and "no lift" not in str(quiet)


X = {
    "x": np.arange(200.0),
    "arm": np.repeat(["left", "right"], 100),
    "u": np.arange(200) % 9,
    "d": np.zeros(200),
}


@pytest.mark.parametrize(
    ("kind", "options", "words"),
    [
        (dm.ConfigError, {"control": "lefd"}, ["control", "'lefd'", "did you mean 'left'"]),
        (dm.NoAnswerError, {"where": "arm = 'left'"}, ["only one variant, 'left'", "where"]),
        (dm.NoAnswerError, {"where": "u > 99"}, ["no rows"]),
        (dm.DataError, {"denominator": "d"}, ["denominator", "'d'", "not positive", "'left'"]),
        (dm.ConfigError, {"denominator": "x"}, ["denominator", "the metric itself"]),
        (dm.ConfigError, {"unit": "arm"}, ["unit", "'arm'", "variants"]),
        (dm.ConfigError, {"unit": "x"}, ["unit: 'x' is also a column to compare"]),
        (dm.ConfigError, {"unit": []}, ["unit: name the columns of the randomisation units"]),
        (dm.ConfigError, {"by": "x"}, ["by", "'x'"]),
        (dm.ConfigError, {"by": ["arm", "u"]}, ["by", "must be a column's name"]),
        (dm.ConfigError, {"by": "arn"}, ["'arn'", "'arm'"]),
        (dm.ConfigError, {"interval": "closed-form"}, ["interval", "'closed-form'"]),
        (dm.ConfigError, {"confidence_level": 1.0}, ["confidence_level"]),
    ],
)
def test_refusals_are_one_line(kind: type[Exception], options: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(kind) as error:
        dm.difference(X, "x", **{"by": "arm", "rng": 0, **options})
    assert "\n" not in str(error.value)
    for word in words:
        assert word in str(error.value)


def test_variants_without_values_and_columns_of_times() -> None:
    x = pa.array(np.arange(200.0), mask=X["arm"] == "left")
    with pytest.raises(
        dm.NoAnswerError, match=r"variant 'left': none of the 100 rows has a value \(100 null"
    ):
        dm.difference({**X, "x": x}, "x", by="arm", rng=0)
    with pytest.raises(dm.NoAnswerError, match="variant 'left'"):
        dm.difference({**X, "x": x}, "x", by="arm", control="right", rng=0)
    with pytest.raises(dm.DataError, match="'x' holds timestamps; compare numbers"):
        dm.difference({**X, "x": np.arange(200).astype("datetime64[s]")}, "x", by="arm")
    non_finite = np.where(np.arange(200) % 3, np.inf, 1.0)
    with pytest.raises(dm.NoAnswerError, match="no finite answer"):
        dm.difference({**X, "x": non_finite}, "x", by="arm", rng=0)


def test_the_plan_takes_the_same_arguments_and_old_keywords_have_a_new_place() -> None:
    told = dm.explain(dm.difference, X, "x", by="arm", unit="u", rng=3)
    assert (told["fine_blocks"], told["seed"], told["n_rows"]) == (945, 3, 200)
    with pytest.raises(dm.DataError, match="'x' holds timestamps"):
        dm.explain(dm.difference, {**X, "x": np.arange(200).astype("datetime64[s]")}, "x", by="arm")
    for old, new in {"nan": "dm.scan", "threads": "dm.Threads", "block_by": "unit="}.items():
        with pytest.raises(TypeError, match=rf"{old}: now .*{new}"):
            dm.difference(X, "x", by="arm", **{old: 1})  # type: ignore[arg-type]
