"""Kinds of numbers that broke other tools: narrow types, large integers, decimals, NaN, infinities, nulls."""

from __future__ import annotations

import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from flat import flat
from mean_lakes import write

import distmom as dm
from distmom.inference.status import ALL_EQUAL


def plain(data: Any, column: str = "x", **options: Any) -> float:
    """The sample mean, once it is seen that one block gives the same."""
    found = dm.mean(data, column, rng=0, **options)
    one = flat(dm.mean)(data, column, rng=0, n_blocks=1, **options)
    assert one.estimate == pytest.approx(one.plain_estimate, rel=1e-15) and one.n_blocks == 1
    assert one.plain_estimate == pytest.approx(found.plain_estimate, rel=1e-15)
    return found.plain_estimate


def test_float32_does_not_drift_with_the_number_of_files(tmp_path: Path) -> None:
    x = np.arange(5794, dtype="f4")
    write(tmp_path / "one" / "a.parquet", {"x": x})
    write(tmp_path / "two" / "a.parquet", {"x": x[:2897]})
    write(tmp_path / "two" / "b.parquet", {"x": x[2897:]})
    assert plain(tmp_path / "one") == plain(tmp_path / "two") == 2896.5
    for n_blocks in (1, 2, 7, 30):
        assert dm.mean(tmp_path / "two", rng=0, blocks=n_blocks).plain_estimate == 2896.5


def test_float16_does_not_overflow(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", {"x": np.full(100, 1000, "f2")})
    assert plain(tmp_path) == 1000.0
    assert dm.mean(np.full(100, 1000, "f2"), rng=0).plain_estimate == 1000.0


@pytest.mark.parametrize("values", [[2**63 - 1, 1], [2**62, 2**62]], ids=["one large", "two halves"])
def test_int64_does_not_wrap_around(values: list[int], tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", {"x": pa.array(values)})
    assert plain(tmp_path) == 4.611686018427387904e18


def test_squares_of_int64_do_not_wrap_around(tmp_path: Path) -> None:
    x = np.tile(np.array([4_000_000_000, 4_000_000_002]), 500)
    write(tmp_path / "a.parquet", {"x": x[:400]})
    write(tmp_path / "b.parquet", {"x": x[400:]})
    found = dm.ustatistic(tmp_path, "x", kernel="variance", rng=0, blocks=1)
    assert found.estimate == pytest.approx(1000 / 999, rel=1e-12)
    [profile] = dm.describe(tmp_path, rng=0)
    assert profile.plain_std == pytest.approx(np.sqrt(1000 / 999), rel=1e-12)


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint32", "int32", "uint64", "bool"])
def test_whole_numbers_of_every_width(kind: str, tmp_path: Path) -> None:
    x = np.array([0, 1, 1, 1] * 25).astype(kind)
    write(tmp_path / "a.parquet", {"x": x})
    assert plain(tmp_path) == 0.75
    assert dm.mean(x, rng=0).plain_estimate == 0.75


def test_a_large_common_offset_costs_no_digits(tmp_path: Path) -> None:
    """One-pass sums of squares report NaN or nonsense for the spread."""
    for i in range(4):
        write(tmp_path / "const" / f"{i}.parquet", {"x": np.full(5, 22642751.0)})
    write(tmp_path / "off" / "a.parquet", {"x": np.array([1e9, 1e9 + 1, 1e9 + 2])})
    assert plain(tmp_path / "const") == 22642751.0
    constant = dm.mean(tmp_path / "const", rng=0, blocks=3)
    assert constant.interval == (22642751.0, 22642751.0) and constant.status == "ok"
    assert plain(tmp_path / "off") == 1e9 + 1
    # 1,000 rows at offset 1e9 or none: the same width
    g = np.random.default_rng(0).integers(0, 3, 1000).astype(float)
    low, high = (dm.mean(x, interval="cantelli", rng=0, blocks=9).interval or (0, 0) for x in (g, g + 1e9))
    assert high[1] - high[0] == pytest.approx(low[1] - low[0], rel=1e-6)


def test_nan_and_infinities_are_named_with_their_counts(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", {"x": np.array([123.0, 123.0, np.nan, np.inf, -np.inf])})
    with pytest.raises(dm.NoAnswerError, match=r"'x'.*non-finite.*2 infinite and 1 NaN values in 5 rows"):
        dm.mean(tmp_path, rng=0)
    found = dm.mean(tmp_path, where="x < 1e300 and x > -1e300", rng=0)
    assert (found.plain_estimate, found.n_used, found.n_rows) == (123.0, 2, 2)
    with pytest.raises(dm.DataError, match=r"a\.parquet.*'x' is NaN in row 2"):
        dm.mean(dm.scan(tmp_path, nan="raise"), rng=0)


def test_a_minority_of_non_finite_files_does_not_spread(tmp_path: Path) -> None:
    """Interpolating percentiles turn an infinite neighbour into NaN."""
    for k, v in enumerate([4.0, 5.0, np.inf]):
        write(tmp_path / "odd" / f"{k}.parquet", {"x": np.full(10, v)})
    found = dm.mean(tmp_path / "odd", rng=0, blocks=dm.FileBlocks(3))
    assert (found.estimate, found.n_non_finite_blocks, found.n_inf) == (5.0, 1, 10)
    assert found.plain_estimate == np.inf
    for k, v in enumerate([1.0, 2.0, np.inf, np.inf]):
        write(tmp_path / "even" / f"{k}.parquet", {"x": np.full(10, v)})
    with pytest.raises(dm.NoAnswerError, match="2 of 4 blocks are non-finite"):
        dm.mean(tmp_path / "even", rng=0, blocks=dm.FileBlocks(4))


def test_null_nan_and_infinity_are_counted_apart(tmp_path: Path) -> None:
    values = [1.0, None, math.nan, math.inf, 2.0]
    write(tmp_path / "a.parquet", {"x": pa.array(values), "y": [1.0, 2.0, 3.0, 4.0, 5.0]})
    x, y = dm.mean(tmp_path, ["x", "y"], rng=0)
    # nulls and NaN are left out; an infinity is an extreme observation, used and counted
    assert (x.n_rows, x.n_null, x.n_nan, x.n_inf, x.n_used) == (5, 1, 1, 1, 3)
    assert math.isnan(x.estimate) and x.plain_estimate == np.inf and x.status == "no finite answer"
    assert y.estimate == 3.0
    found = dm.mean(tmp_path, "x", where="x < 10", rng=0)
    assert (found.plain_estimate, found.n_used) == (1.5, 2)


def test_policies_for_nan() -> None:
    g = np.random.default_rng(0)
    x = g.normal(size=5_000)
    x[[10, 500]] = np.nan
    omit = dm.mean(x, rng=0, blocks=21)
    assert (omit.n_used, omit.n_nan, omit.n_non_finite_blocks) == (4_998, 2, 0)
    keep = dm.mean(dm.scan(x, nan="keep"), rng=0, blocks=21)
    assert (keep.n_used, keep.n_nan) == (5_000, 2) and 1 <= keep.n_non_finite_blocks <= 2
    assert math.isfinite(keep.estimate) and math.isnan(keep.plain_estimate)
    with pytest.raises(dm.DataError, match="NaN in row 10"):
        dm.mean(dm.scan(x, nan="raise"), rng=0)
    assert dm.mean(dm.scan(x, nan="raise"), where="x < 1e9", rng=0).n_used == 4_998, (
        "filtered rows do not count"
    )
    with pytest.raises(dm.NoAnswerError, match=r"nan='omit'"):
        dm.mean(dm.scan(np.where(np.arange(5000) % 9 < 5, x, np.nan), nan="keep"), rng=0, blocks=3)


def test_decimals(tmp_path: Path) -> None:
    values = [Decimal(s) for s in ("9.999", "1.234", "1.234", "1.234")]
    write(tmp_path / "a.parquet", {"x": pa.array([*values, None], pa.decimal128(4, 3))})
    assert plain(tmp_path) == pytest.approx(3.42525, rel=1e-15)
    assert dm.mean(tmp_path, rng=0).n_null == 1


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (pa.array(["1", "2"]), "string"),
        (pa.array([{"a": 1}]), "struct"),
        (pa.array([[1.0, 2.0], [3.0]]), "list"),
        (pa.array([[0, 0], [1, 2], None], pa.list_(pa.float64(), 2)), "list"),
        (pa.array([0], pa.time64("us")), "time"),
    ],
    ids=lambda v: str(getattr(v, "type", v)),
)
def test_types_without_a_mean_are_refused_by_name(array: pa.Array, words: str, tmp_path: Path) -> None:
    """Vectors too, unless they are joint: one line that names column, type and file."""
    write(tmp_path / "a.parquet", {"x": array, "y": np.zeros(len(array))})
    with pytest.raises(dm.DistmomError, match=words) as caught:
        dm.mean(tmp_path, "x", rng=0)
    text = str(caught.value)
    assert "'x'" in text and "a.parquet" in text and "\n" not in text


def test_one_row() -> None:
    found = dm.mean(np.array([1.0]), rng=0)
    assert (found.estimate, found.plain_estimate, found.n_blocks) == (1.0, 1.0, 1)
    assert found.interval is None and found.interval_reason
    assert found.flags == ("sample mean, no guarantee",)
    few = dm.mean(np.array([1.0]), rng=0, blocks=5)
    assert few.n_blocks == 1 and few.interval is None
    assert any("5" in note and "1" in note for note in few.notes)


def test_fewer_rows_than_blocks_names_both_numbers() -> None:
    found = dm.mean(np.arange(6.0), rng=0, blocks=11)
    assert found.n_blocks == 6 and found.notes == ("blocks lowered from 11 to 6, the number of rows",)
    assert found.interval is None and found.interval_reason == "fewer rows than blocks"
    assert found.status == "dominated by few rows"  # the median of rows, which may be far from their mean
    assert dm.mean(np.full(6, 2.0), rng=0, blocks=11).status == "ok"


@pytest.mark.parametrize(
    "data", [np.empty(0), pa.table({"x": pa.array([], pa.float64())})], ids=["NumPy", "Arrow"]
)
@pytest.mark.parametrize("options", [{}, {"scheme": "swor"}, {"order": "stored"}, {"n_blocks": 5}], ids=str)
def test_no_rows(data: Any, options: dict[str, Any]) -> None:
    with pytest.raises(dm.NoAnswerError, match="no rows"):
        flat(dm.mean)(data, "x", rng=0, **options)


@pytest.mark.parametrize("options", [{}, {"n_blocks": 3}, {"scheme": "swor", "n_blocks": 3, "block_size": 2}])
def test_nothing_but_nulls(options: dict[str, Any]) -> None:
    with pytest.raises(dm.NoAnswerError, match=r"none of the 20 rows has a value.*20 null"):
        flat(dm.mean)(pa.table({"x": pa.nulls(20, pa.float64())}), rng=0, **options)


@pytest.mark.parametrize(
    "options", [{}, {"n_blocks": 3}, {"scheme": "swor", "n_blocks": 3, "block_size": 200}]
)
def test_nothing_but_infinities(options: dict[str, Any]) -> None:
    with pytest.raises(dm.NoAnswerError, match=r"blocks are non-finite.*5000 infinite"):
        flat(dm.mean)(np.full(5_000, np.inf), rng=0, **options)


CONSTANT: dict[str, dict[str, Any]] = {
    "auto": {},
    "cantelli": {"interval": "cantelli"},
    "many": {"fine": "many"},
    "given": {"n_blocks": 9},
    "paper": {"n_blocks": "paper", "interval": "closed-form"},
    "stored": {"order": "stored"},
    "samples": {"scheme": "swor", "n_blocks": 9, "block_size": 100},
    "paper's samples": {"scheme": "swor", "interval": "closed-form"},
}


def test_constants_and_two_rows() -> None:
    """Intervals of constant data fail elsewhere with an index error, or print p = 0 beside NaN."""
    few = dm.mean(np.full(10, 1.0), rng=0)
    assert few.estimate == 1.0 and few.interval is None and few.interval_reason
    assert few.flags == ("sample mean, no guarantee",) and "all values are identical" in few.notes[0]
    for options in CONSTANT.values():
        many = flat(dm.mean)(np.full(5_000, 1.0), rng=0, **options)
        assert (many.estimate, many.interval, many.status) == (1.0, (1.0, 1.0), "ok"), options
        assert many.notes == (ALL_EQUAL,)
        assert "all values are identical" in str(many)
        other = np.full(5_000, 1.0)
        other[17] = 2.0  # the negative control: one row tells that there is a spread, but not how large
        found = flat(dm.mean)(other, rng=0, **options)
        assert found.interval != (1.0, 1.0) and not found.notes, options
    two = dm.mean(np.array([0.0, 1.0]), rng=0)
    assert two.estimate == 0.5 and two.interval is None


def test_ranks_of_the_order_interval_are_the_documented_ones() -> None:
    """The l-th smallest and l-th largest of 40 block means, P(Bin(40, 1/2) < l) <= 2.5%: l = 14."""
    x = np.random.default_rng(0).normal(size=40 * 25)
    found = dm.mean(x, confidence_level=0.95, interval="order", rng=0, blocks=40)
    ordered = np.sort(found.block_estimates)
    assert found.interval == (ordered[13], ordered[26])
    tail = sum(math.comb(40, k) for k in range(14)) / 2**40
    assert found.actual_level == pytest.approx(1 - 2 * tail) and found.actual_level >= 0.95
    with_one_less = sum(math.comb(40, k) for k in range(15)) / 2**40
    assert 1 - 2 * with_one_less < 0.95
    few = dm.mean(x, interval="order", rng=0, blocks=5)
    assert few.interval is None and few.interval_reason == "too few blocks for this confidence level"


# --- what is handed in stays as it is


def frozen(x: np.ndarray) -> np.ndarray:
    x.flags.writeable = False
    return x


@pytest.mark.parametrize("options", [{}, {"scheme": "swor"}, {"order": "stored"}, {"by": "g"}], ids=str)
def test_read_only_arrays_are_taken_as_they_are_and_left_so(options: dict[str, Any]) -> None:
    g = np.random.default_rng(0)
    x = g.normal(size=3_000)
    x[5] = np.nan
    mask = g.random(3_000) < 0.1
    table = pa.table({"x": pa.array(x, mask=mask), "g": g.integers(0, 3, 3_000)})
    array = frozen(np.rec.fromarrays([x, g.integers(0, 3, 3_000)], names="x,g").view(np.ndarray))
    before = [table.column("x").chunk(0).buffers()[1].to_pybytes(), array.tobytes()]
    flat(dm.mean)(table, "x", rng=0, where="x > -1", **options)
    flat(dm.mean)(array, "x", rng=0, **options)
    flat(dm.mean)({"x": frozen(x), "g": g.integers(0, 3, 3_000)}, "x", rng=0, **options)
    assert before == [table.column("x").chunk(0).buffers()[1].to_pybytes(), array.tobytes()]


def test_three_columns_give_three_numbers() -> None:
    x = np.random.default_rng(0).normal(size=(4_000, 3)) + np.array([0.0, 10.0, 20.0])
    found = dm.mean(x, rng=0)
    assert [r.column for r in found] == ["0", "1", "2"]
    for result, mean in zip(found, (0.0, 10.0, 20.0), strict=True):
        # a median of means of 4,000 rows: standard error 0.02
        assert result.estimate == pytest.approx(mean, abs=0.1)
    assert len({r.estimate for r in found}) == 3


def test_columns_do_not_influence_each_other() -> None:
    g = np.random.default_rng(0)
    table = pa.table(
        {"x": g.normal(size=2_000), "y": g.standard_t(2, 2_000), "z": pa.nulls(2_000, pa.int8())}
    )
    both = dm.mean(table, ["x", "y", "z"], rng=0)
    assert both[0] == dm.mean(table, "x", rng=0)
    assert both[1] == dm.mean(table, "y", rng=0)
    assert math.isnan(both[2].estimate) and both[2].status == "no rows"
