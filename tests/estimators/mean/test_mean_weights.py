"""Weighted means end to end: against a twin that goes row by row, and what weights may and may not change."""

from __future__ import annotations

import itertools
import json
import math
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import rule_twin
from click.testing import CliRunner
from flat import explained, flat
from hypothesis import given
from hypothesis import strategies as st
from mean_lakes import results, same, write

import distmom as dm
from distmom.cli.program import program
from distmom.inference.ladder import Merger
from distmom.numerics.blocks.labels import file_cell, file_key, label_table, labels
from distmom.numerics.blocks.weighted_moments import WeightedMoments
from distmom.numerics.random.philox import resolve_seed

SEED = resolve_seed(1)[0]


def rows_of(n: int, seed: int = 0, *, dirty: bool = False) -> dict[str, Any]:
    """Values, weights and groups; with nulls, NaN and zeros if `dirty`."""
    g = np.random.default_rng(seed)
    x, y, w, k = g.standard_t(3, n) + 2.0, g.normal(size=n), g.lognormal(size=n), g.integers(0, 3, n)
    valid, valid_w = np.ones(n, bool), np.ones(n, bool)
    if dirty:
        x[g.random(n) < 0.03], w[g.random(n) < 0.05] = np.nan, np.nan
        w[g.random(n) < 0.2] = 0.0
        valid, valid_w = g.random(n) > 0.1, g.random(n) > 0.1
    return {
        "x": pa.array(x, mask=~valid, from_pandas=False),
        "y": y,
        "w": pa.array(w, mask=~valid_w, from_pandas=False),
        "k": k,
    }


def used_rows(table: dict[str, Any], column: str = "x") -> list[tuple[int, float, float]]:
    """Number, value and weight of the rows that count, by plain Python."""
    x, w = (pa.array(table[name], from_pandas=False).to_pylist() for name in (column, "w"))
    return [
        (i, a, b)
        for i, (a, b) in enumerate(zip(x, w, strict=True))
        if a is not None and b is not None and not math.isnan(a) and b > 0.0
    ]


def block_of(pairs: list[tuple[float, float]]) -> tuple[float, ...]:
    """The block of the rule's twin, in exact arithmetic."""
    if not pairs:
        return (0, 0.0, 0.0, 0.0, 0.0, 0.0)
    x, w = ([Fraction(pair[i]) for pair in pairs] for i in (0, 1))
    both = list(zip(x, w, strict=True))
    whole, whole2 = sum(w), sum(b * b for b in w)
    mean, mean2 = sum(a * b for a, b in both) / whole, sum(a * b * b for a, b in both) / whole2
    m2 = sum(b * b * (a - mean2) ** 2 for a, b in both)
    return (len(pairs), float(mean), float(m2), float(whole), float(whole2), float(mean2))


def twin(files: dict[str, dict[str, Any]], n_fine: int, n_cells: int, **options: Any) -> dict[str, Any]:
    """The rule's twin on blocks that are collected row by row."""
    table = label_table(SEED, n_fine)
    fine: list[list[tuple[float, float]]] = [[] for _ in range(n_fine)]
    cells: list[list[tuple[float, float]]] = [[] for _ in range(n_cells)]
    for path, rows in files.items():
        key = file_key(SEED, path)
        at = labels(0, len(rows["x"]), key, table)
        for i, x, w in used_rows(rows):
            fine[at[i]].append((x, w))
            cells[file_cell(key, n_cells)].append((x, w))
    sample = [x for rows in files.values() for _, x, _ in used_rows(rows)]
    assert len(sample) <= 1_024, "then the sample is of all rows"
    some_cells = list(map(block_of, cells)) if len(files) >= 10 else None
    return rule_twin.rule(list(map(block_of, fine)), sample, 0.99, some_cells, **options)


CASES: dict[str, tuple[dict[str, Any], int, int | None]] = {
    "automatic": ({}, 945, None),
    "five blocks": ({"n_blocks": 5, "interval": "cantelli"}, 1_015, 5),
    "thirty-five blocks": ({"n_blocks": 35}, 1_015, 35),
    "cantelli": ({"interval": "cantelli"}, 945, None),
}


@pytest.mark.parametrize("dirty", [False, True], ids=["clean", "dirty"])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.one_in(3)
def test_the_answer_is_that_of_the_row_by_row_twin(case: str, dirty: bool, tmp_path: Path) -> None:
    options, n_fine, k = CASES[case]
    files = {f"{i:02}.parquet": rows_of(31 + 7 * i, i, dirty=dirty) for i in range(12)}
    for path, rows in files.items():
        write(tmp_path / path, rows)
    found = flat(dm.mean)(tmp_path, "x", weights="w", rng=1, **options)
    want = twin(files, n_fine, 945, k_given=k)
    assert found.status == "ok" and not want["status"]
    assert found.n_blocks == want["k"]
    assert found.estimate == pytest.approx(want["estimate"], rel=1e-12)
    assert found.plain_estimate == pytest.approx(want["plain"], rel=1e-12)
    blocks = [b[1] for b in want["shown"]["blocks"]]
    np.testing.assert_allclose(found.block_estimates, blocks, rtol=1e-11)
    which = want["cantelli"] if options.get("interval") == "cantelli" else want["order"]
    assert found.interval is not None
    if which[0] != "unequal":
        np.testing.assert_allclose(found.interval, which[:2], rtol=1e-9)
    rows = [row for table in files.values() for row in used_rows(table)]
    w = [Fraction(b) for _, _, b in rows]
    assert found.n_used == len(rows)
    assert found.n_effective == pytest.approx(float(sum(w) ** 2 / sum(b * b for b in w)), rel=1e-12)


def test_counts_of_rows_without_weight(tmp_path: Path) -> None:
    """A row without a positive weight is none: the nulls and NaN of the values are those of other rows."""
    x = [1.0, None, math.nan, 4.0, None, 5.0, math.nan, 7.0, math.inf]
    w = [1.0, 2.0, 3.0, None, None, math.nan, 0.0, 2.0, 0.0]
    write(tmp_path / "a.parquet", {"x": pa.array(x, from_pandas=False), "w": pa.array(w, from_pandas=False)})
    found = dm.mean(tmp_path, "x", weights="w", rng=0)
    assert (found.n_rows, found.n_used, found.n_null, found.n_nan, found.n_inf) == (9, 2, 1, 1, 0)
    assert (found.n_unweighted, found.n_zero_weight) == (3, 2)
    assert found.plain_estimate == 5.0 and found.n_effective == pytest.approx(9 / 5)
    document = found.to_dict()
    assert (document["weights"], document["n_unweighted"], document["n_zero_weight"]) == ("w", 3, 2)
    row = found.to_arrow().to_pylist()[0]
    assert (row["weights"], row["n_unweighted"], row["n_zero_weight"]) == ("w", 3, 2)
    assert "3 without a weight, 2 of weight zero of 9 rows" in str(found)
    plain = dm.mean(tmp_path, "x", where="x < 9", rng=0)
    assert plain.weights is plain.n_unweighted is plain.n_effective is None
    assert plain.to_dict()["weights"] is None and "weight" not in str(plain)


# --- what weights mean


@pytest.mark.parametrize("by", [None, "k"])
def test_whole_weights_are_repeated_rows(by: str | None) -> None:
    """With one block a row of weight 3 is three rows, and one of weight 0 none."""
    g = np.random.default_rng(2)
    x, w, k = g.normal(size=500), g.integers(0, 5, 500), g.integers(0, 2, 500)
    often = {"x": np.repeat(x, w), "k": np.repeat(k, w)}
    weighted = dm.mean({"x": x, "w": w, "k": k}, "x", weights="w", by=by, rng=0, blocks=1)
    for a, b in zip(results(weighted), results(dm.mean(often, "x", by=by, rng=0, blocks=1)), strict=True):
        assert a.estimate == pytest.approx(b.estimate, rel=1e-13)
        assert a.plain_estimate == pytest.approx(b.plain_estimate, rel=1e-13)


WAYS: dict[str, dict[str, Any]] = {
    "automatic": {},
    "given": {"n_blocks": 9, "interval": "cantelli"},
    "stored": {"order": "stored", "n_blocks": 5},
    "grouped": {"by": "k"},
    "contaminated": {"contamination": 2},
    "chunks": {"chunk_rows": 3},
    "chunks, grouped": {"chunk_rows": 3, "by": "k", "n_blocks": 5},
    "units": {"block_by": "u"},
    "units, grouped": {"block_by": "u", "by": "k", "n_blocks": 5},
}


@pytest.mark.parametrize("options", WAYS.values(), ids=WAYS)
def test_equal_weights_change_nothing(options: dict[str, Any]) -> None:
    """A power of two not a bit, another number only roundings."""
    table = rows_of(4_000, 3)
    table["u"] = np.arange(4_000) // 5
    table["x"] = np.where(np.arange(4_000) % 999 == 7, 1e7, np.asarray(table["x"].to_numpy()))
    plain = results(flat(dm.mean)(table, "x", rng=1, **options))
    for unit, exact in ((1.0, True), (2.0**-60, True), (0.3, False)):
        weighted = results(
            flat(dm.mean)({**table, "w": np.full(4_000, unit)}, "x", weights="w", rng=1, **options)
        )
        for a, b in zip(weighted, plain, strict=True):
            if exact:
                assert a.weights == "w" and a.n_effective == a.n_used
                same_numbers(a, b)
            assert a.estimate == pytest.approx(b.estimate, rel=1e-12) and a.status == b.status
            assert a.interval == pytest.approx(b.interval, rel=1e-10)


def same_numbers(a: dm.MeanResult, b: dm.MeanResult) -> None:
    """All but what only weighted results say."""
    for name in (
        "estimate",
        "interval",
        "status",
        "n_blocks",
        "block_size",
        "n_screened_out",
        "path",
        "notes",
    ):
        assert repr(getattr(a, name)) == repr(getattr(b, name)), name
    assert a.block_estimates.tobytes() == b.block_estimates.tobytes()


weight = st.one_of(st.floats(0.01, 100.0), st.sampled_from([0.0, 1.0, None, math.nan]))
value = st.one_of(st.floats(-1e6, 1e6, allow_subnormal=False), st.sampled_from([None, math.nan]))
pairs = st.lists(st.tuples(value, weight), min_size=1, max_size=120)
ways = st.sampled_from([{}, {"n_blocks": 5}, {"n_blocks": 3, "order": "stored"}, {"by": "k"}])


@contextmanager
def lake(rows: list[tuple[Any, Any]], cuts: list[int]) -> Iterator[Path]:
    edges = [0, *sorted(min(c, len(rows)) for c in cuts), len(rows)]
    with tempfile.TemporaryDirectory() as folder:
        for i, (low, high) in enumerate(itertools.pairwise(edges)):
            columns = zip(*rows[low:high], strict=True) if high > low else ((), ())
            x, w = (pa.array(list(c), pa.float64(), from_pandas=False) for c in columns)
            write(Path(folder) / f"{i}.parquet", {"x": x, "w": w, "k": np.arange(low, high) % 2})
        yield Path(folder)


def answer(data: Any, **options: Any) -> Any:
    try:
        return flat(dm.mean)(data, "x", weights="w", rng=1, threads=1, **options)
    except dm.NoAnswerError:
        return None


@given(pairs, st.lists(st.integers(0, 120), max_size=4), st.randoms(use_true_random=False))
def test_any_partitioning_and_permutation_have_the_same_sample_mean(
    rows: Any, cuts: Any, random: Any
) -> None:
    used = [(a, b) for a, b in rows if a is not None and b is not None and not math.isnan(a) and b > 0]
    shuffled = random.sample(rows, len(rows))
    with lake(rows, cuts) as one, lake(shuffled, []) as other:
        for found in (answer(one), answer(other), answer(one, n_blocks=1), answer(other, order="stored")):
            if not used:
                assert found is None
                continue
            right = sum(Fraction(a) * Fraction(b) for a, b in used) / sum(Fraction(b) for _, b in used)
            scale = max(abs(a) for a, _ in used)
            assert found.plain_estimate == pytest.approx(float(right), abs=1e-13 * scale)
            assert (found.n_rows, found.n_used) == (len(rows), len(used))


@given(pairs, ways, st.sampled_from([2.0**-50, 2.0**20]))
def test_a_power_of_two_times_all_weights_changes_no_bit(rows: Any, options: Any, unit: float) -> None:
    scaled = [(a, None if b is None else b * unit) for a, b in rows]
    with lake(rows, [40]) as one, lake(scaled, [40]) as other:
        left, right = answer(one, **options), answer(other, **options)
    assert (left is None) == (right is None)
    assert left is None or same(left, right)


@given(pairs, ways, st.sampled_from([None, math.nan, 0.0]))
def test_rows_without_weight_at_the_end_change_counts_alone(rows: Any, options: Any, odd: Any) -> None:
    if options.get("order") == "stored":
        options = {"n_blocks": 5}  # contiguous blocks are cut by the number of all rows
    more = [*rows, (1e9, odd), (None, odd)]
    with lake(rows, []) as one, lake(more, []) as other:
        left, right = answer(one, **options), answer(other, **options)
    assert (left is None) == (right is None)
    if left is not None:
        after = {str(r.group): r for r in results(right)}
        for a in results(left):
            b = after.pop(str(a.group))
            same_numbers(a, b)
            assert a.n_used == b.n_used
        assert all(r.flags == ("no rows",) for r in after.values())  # a group of such rows only


@given(st.sampled_from([0.5, 2.0**30]), ways)
def test_a_power_of_two_times_all_values_passes_through(factor: float, options: dict[str, Any]) -> None:
    g = np.random.default_rng(5)
    x, w, k = g.normal(size=900), g.lognormal(size=900), g.integers(0, 2, 900)
    one, other = ({"x": v, "w": w, "k": k} for v in (x, factor * x))
    for a, b in zip(results(answer(one, **options)), results(answer(other, **options)), strict=True):
        assert b.estimate == factor * a.estimate
        np.testing.assert_array_equal(b.block_estimates, factor * a.block_estimates)
        assert b.n_effective == a.n_effective


# --- robustness


def test_outlying_rows_and_outlying_weights_do_not_move_it() -> None:
    """The plain weighted mean is the negative control: one row is enough for it."""
    g = np.random.default_rng(6)
    n = 50_000
    x, w = g.normal(size=n) + 1.0, g.lognormal(size=n)
    clean = dm.mean({"x": x, "w": w}, "x", weights="w", rng=0)
    assert clean.status == "ok" and clean.interval is not None
    values, weights = x.copy(), w.copy()
    values[::5_000] = 1e7
    bad_values = dm.mean({"x": values, "w": w}, "x", weights="w", rng=0)
    weights[:3], values = 1e9, x.copy()
    values[:3] = 50.0
    bad_weights = dm.mean({"x": values, "w": weights}, "x", weights="w", rng=0)
    for found in (bad_values, bad_weights):
        assert abs(found.estimate - 1.0) < 0.1 < 10.0 < abs(found.plain_estimate - 1.0)
        assert found.interval is not None and found.interval[0] < 1.0 < found.interval[1]
    assert "contaminated" in bad_values.flags


def test_files_that_are_bad_are_accused(tmp_path: Path) -> None:
    for i in range(60):
        g = np.random.default_rng(i)
        x = g.normal(size=300) + (1e6 if i in (7, 31) else 0.0)
        write(tmp_path / f"{i:02}.parquet", {"x": x, "w": g.lognormal(size=300) * (1 + i % 3)})
    found = dm.mean(tmp_path, "x", weights="w", rng=0)
    assert found.accused_files == ("07.parquet", "31.parquet") and abs(found.estimate) < 0.2
    by_file = dm.mean(tmp_path, "x", weights="w", rng=0, blocks=dm.FileBlocks())
    assert abs(by_file.estimate) < 0.3


def test_one_enormous_weight_does_not_balance_the_blocks() -> None:
    """Blocks stay those of rows; where all weights are unequal, effective rows are balanced."""
    count = np.full((2, 105), 20)
    w, w2 = np.full((2, 105), 20.0), np.full((2, 105), 20.0)
    w[0, 3], w2[0, 3] = 1e12, 1e24  # one row of its block
    w2[1] = np.where(np.arange(105) < 50, 400.0, 100.0)  # 1 or 4 effective rows of 20
    zero = np.zeros((2, 105))
    merger = Merger(WeightedMoments(count, w, zero, w2, zero, zero))
    assert np.array_equal(merger.index(7)[0], np.arange(105) // 15)
    effective = np.where(np.arange(105) < 50, 1, 4)
    shares = np.bincount(merger.index(7)[1], effective)
    assert shares.sum() == 270 and np.abs(shares - 270 / 7).max() <= 4


# --- policies and refusals


def test_filters_groups_columns_and_the_weights_themselves() -> None:
    table = rows_of(3_000, 8)
    both = dm.mean(table, ["x", "y"], weights="w", rng=0)
    assert isinstance(both, dm.Results)
    for found in both:
        assert same(found, dm.mean(table, found.column, weights="w", rng=0))
    assert [r.column for r in both] == ["x", "y"]
    x, y, w, k = (np.asarray(table[name]) for name in ("x", "y", "w", "k"))
    grouped = dm.mean(table, "x", weights="w", by="k", where="y > 0", rng=0)
    for r in results(grouped):
        mine = (k == r.group["k"]) & (y > 0)
        assert r.plain_estimate == pytest.approx(np.average(x[mine], weights=w[mine]), rel=1e-12)
        assert r.n_effective == pytest.approx(w[mine].sum() ** 2 / (w[mine] ** 2).sum(), rel=1e-12)
    itself = dm.mean({"w": w}, "w", weights="w", rng=0)
    assert itself.plain_estimate == pytest.approx((w * w).sum() / w.sum(), rel=1e-12)
    assert [r.column for r in results(dm.mean({"x": x, "y": y, "w": w}, weights="w", rng=0))] == ["x", "y"]
    assert dm.mean({"x": x, "w": w}, weights="w", rng=0).column == "x"
    by_weight = dm.mean({"x": x, "k": k + 1}, "x", weights="k", by="k", rng=0)
    assert [r.n_effective == r.n_used for r in results(by_weight)] == [True] * 3


def test_kinds_of_weights(tmp_path: Path) -> None:
    g = np.random.default_rng(9)
    x, n = g.normal(size=400), 400
    kinds = {
        "whole": pa.array(g.integers(0, 9, n), pa.int16()),
        "truth": pa.array(g.random(n) < 0.5),
        "exact": pa.array([f"{v:.2f}" for v in g.random(n)]).cast(pa.decimal128(9, 2)),
        "single": pa.array(g.random(n), pa.float32()),
        "span": pa.array(g.integers(1, 10**6, n), pa.duration("ms")),
    }
    for name, array in kinds.items():
        found = dm.mean({"x": x, "w": array}, "x", weights="w", rng=0)
        numbers = array.cast(pa.int64()) if name == "span" else array.cast(pa.float64())
        right = np.average(x, weights=numbers.to_numpy())
        assert found.plain_estimate == pytest.approx(right, rel=1e-12), name
    for part, file in ((2, "a"), (5, "b")):
        write(tmp_path / f"w={part}" / f"{file}.parquet", {"x": np.full(50, float(part))})
    assert dm.mean(tmp_path, "x", weights="w", rng=0).plain_estimate == pytest.approx(29 / 7, rel=1e-14)


@pytest.mark.parametrize(
    ("columns", "options", "error", "words"),
    [
        ({"w": [1.0, -2.0]}, {}, dm.DataError, ["weight 'w' is -2 in row 1", "negative", "where"]),
        ({"w": [math.inf, 1.0]}, {}, dm.DataError, ["weight 'w' is inf in row 0", "finite"]),
        ({"w": [1e70, 1.0]}, {}, dm.DataError, ["weight 'w' is 1e+70 in row 0", "divide"]),
        ({"w": [1.0, math.nan]}, {"nan": "raise"}, dm.DataError, ["'w' is NaN in row 1", "omit"]),
        ({"w": ["a", "b"]}, {}, dm.DataError, ["w", "string"]),
        ({"w": np.array([1, 2], "M8[s]")}, {}, dm.DataError, ["'w'", "points in time"]),
        ({"v": [1.0, 2.0]}, {}, dm.ConfigError, ["no column 'w'", "'x', 'v'"]),
        (
            {"w": [0.0, 0.0]},
            {},
            dm.NoAnswerError,
            ["none of the 2 rows", "positive weight", "2 of weight zero"],
        ),
        ({"w": [1e-70, None]}, {}, dm.NoAnswerError, ["1 without weight, 1 of weight zero"]),
        (
            {"w": [1.0, 2.0]},
            {"scheme": "swor"},
            dm.ConfigError,
            ["SampledBlocks", "weights", "RandomBlocks"],
        ),
        ({"w": [1.0, 2.0]}, {"weights": 3}, dm.ConfigError, ["weights", "3"]),
        ({"w": [1.0, 2.0]}, {"weights": ["w"]}, dm.ConfigError, ["weights", "['w']"]),
    ],
    ids=str,
)
def test_what_is_refused(columns: Any, options: Any, error: Any, words: list[str], tmp_path: Path) -> None:
    arrays = {n: pa.array(v, from_pandas=False) if isinstance(v, list) else v for n, v in columns.items()}
    write(tmp_path / "a.parquet", {"x": [1.0, 2.0], **arrays})
    with pytest.raises(error) as caught:
        flat(dm.mean)(tmp_path, "x", **{"weights": "w", "rng": 0, **options})
    text = str(caught.value)
    assert "\n" not in text and all(word in text for word in words), text
    if error is dm.DataError and "in row" in text:
        assert "a.parquet" in text


def test_a_filter_may_take_out_negative_weights() -> None:
    w = np.array([1.0, -1.0, 3.0])
    assert (
        dm.mean({"x": [1.0, 9.0, 5.0], "w": w}, "x", weights="w", where="w >= 0", rng=0).plain_estimate == 4.0
    )


def test_a_group_without_weight_has_no_answer_beside_others() -> None:
    x, w, k = np.arange(400.0), np.ones(400), np.arange(400) % 2
    w[k == 1] = 0.0
    one, other = results(dm.mean({"x": x, "w": w, "k": k}, "x", weights="w", by="k", rng=0))
    assert one.status == "ok" and other.flags == ("no rows",)
    assert (other.n_rows, other.n_used, other.n_zero_weight) == (200, 0, 200)


def test_blocks_without_weight_are_left_out_and_told() -> None:
    x, w = np.arange(4_000.0), np.ones(4_000)
    w[:1_000] = 0.0
    found = dm.mean({"x": x, "w": w}, "x", weights="w", rng=0, blocks=dm.StoredBlocks(9))
    assert found.n_blocks == 9 and found.block_size == (331, 334)
    assert found.notes == ("left out: 254 of 1,017 fine blocks, without a row of positive weight",)
    assert dm.mean({"x": x, "w": w + 1}, "x", weights="w", rng=0, blocks=dm.StoredBlocks(9)).notes == ()


def test_missing_files_have_null_weights(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", {"x": [1.0, 2.0], "w": [1.0, 1.0]})
    write(tmp_path / "b.parquet", {"x": [7.0]})
    with pytest.raises(dm.DataError, match="'w'"):
        dm.mean(tmp_path, "x", weights="w", rng=0)
    found = dm.mean(dm.scan(tmp_path, missing="null"), "x", weights="w", rng=0)
    assert found.plain_estimate == 1.5 and found.n_unweighted == 1


def test_state_streams_and_plans(tmp_path: Path) -> None:
    """A saved state goes on, a stream of the same rows is the same, and a plan reads both columns."""
    tables = [rows_of(500, i, dirty=True) for i in range(4)]
    for i, table in enumerate(tables[:3]):
        write(tmp_path / "lake" / f"{i}.parquet", table)
    options = {"weights": "w", "rng": 1}
    dm.mean(tmp_path / "lake", "x", state=tmp_path / "s", **options)
    write(tmp_path / "lake" / "3.parquet", tables[3])
    grown = dm.mean(tmp_path / "lake", "x", state=tmp_path / "s", **options)
    assert same(grown, dm.mean(tmp_path / "lake", "x", **options))
    assert same(grown, dm.merge_states(tmp_path / "s"))
    with pytest.raises(dm.ConfigError, match="columns"):
        dm.mean(tmp_path / "lake", "x", state=tmp_path / "s", rng=1)
    stream = dm.MeanAccumulator("x", **options)
    whole = {name: pa.concat_arrays([pa.array(t[name], from_pandas=False) for t in tables]) for name in "xw"}
    for start in range(0, 2_000, 333):
        stream.update({name: array.slice(start, 333) for name, array in whole.items()})
    stream = dm.MeanAccumulator.from_bytes(stream.to_bytes())
    assert same(stream.result(), dm.mean(whole, "x", **options))
    with pytest.raises(dm.DataError, match=r"the batch: weight 'w' is -1 in row 1"):
        stream.update({"x": [1.0, 2.0], "w": [1.0, -1.0]})
    assert stream.n_rows == 2_000
    sizes = [explained(dm.mean)(tmp_path / "lake", "x", **more)["n_bytes"] for more in ({}, {"weights": "w"})]
    assert sizes[1] > 1.5 * sizes[0]


def test_the_command_line(tmp_path: Path) -> None:
    write(tmp_path / "lake" / "a.parquet", rows_of(500, 1))
    ran = CliRunner().invoke(program, ["mean", str(tmp_path / "lake"), "-c", "x", "--weights", "w", "--json"])
    assert ran.exit_code == 0, ran.output
    [shown] = json.loads(ran.stdout)["results"]
    assert shown["weights"] == "w"
    assert shown["estimate"] == dm.mean(tmp_path / "lake", "x", weights="w", rng=0).estimate
