"""What a result says: intervals and why there are none, non-finite blocks, bad files, tables and files."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from flat import flat
from mean_lakes import write
from paper_numbers import morm_blocks

import distmom as dm
from distmom.theory.intervals import least_order_blocks, order_rank
from distmom.theory.paper import mom_blocks, paper_margin_mom, paper_margin_morm
from distmom.theory.resampled import resampled_margin
from distmom.theory.variances import mean_variance

G = np.random.default_rng(0)
X = G.standard_t(3, 20_000)


def interval(found: dm.MeanResult) -> tuple[float, float]:
    assert found.interval is not None, found.interval_reason
    return found.interval


def test_the_default_interval_is_that_of_order_statistics() -> None:
    found = dm.mean(X, rng=0)
    low, high = interval(found)
    assert found.interval_kind == "order" and low <= found.estimate <= high
    assert found.actual_level is not None and found.actual_level >= 0.99
    moved = found.estimate - np.median(found.block_estimates)
    ordered, rank = np.sort(found.block_estimates), order_rank(found.n_blocks, 0.01)
    assert low <= ordered[rank - 1] + moved + 1e-12 and high >= ordered[-rank] + moved - 1e-12
    assert high - low < 1.2 * (ordered[-rank] - ordered[rank - 1])
    assert found.confidence_level == 0.99


def test_intervals_grow_with_confidence() -> None:
    for kind in ("order", "cantelli"):
        widths = []
        for level in (0.8, 0.95, 0.999):
            low, high = interval(dm.mean(X, interval=kind, confidence_level=level, rng=0))
            widths.append(high - low)
        assert widths == sorted(widths) and widths[0] < widths[2], kind


def test_few_given_blocks_get_the_cantelli_interval() -> None:
    least = least_order_blocks(0.01)
    assert dm.mean(X, rng=0, blocks=least - 1).interval_kind == "cantelli"
    assert dm.mean(X, rng=0, blocks=least).interval_kind == "order"


def test_the_cantelli_interval_by_its_formula() -> None:
    """K blocks, p* the Beta quantile, Cantelli for both sides; V from the blocks' own spread is near it."""
    found = dm.mean(X, interval="cantelli", rng=0, blocks=9)
    low, high = interval(found)
    assert found.estimate == pytest.approx((low + high) / 2)
    from scipy.special import betaincinv

    p = betaincinv(5, 5, 0.01)
    right = math.sqrt(X.var() / (20_000 / 9) * (1 / p - 1))
    assert (high - low) / 2 == pytest.approx(right, rel=0.15)


def test_the_paper_interval_of_the_partition() -> None:
    found = dm.mean(X, interval="closed-form", rng=0, blocks="paper")
    k, size = mom_blocks(0.99, X.size)
    assert found.n_blocks == k == 5
    assert size - 21 <= found.block_size[0] <= size <= found.block_size[1] <= size + 21  # one fine block
    low, high = interval(found)
    assert (high - low) / 2 == pytest.approx(paper_margin_mom(X.var(), X.size, 0.01), rel=0.3)
    other = dm.mean(X, interval="closed-form", rng=0, blocks=9)
    assert other.interval is None and f"{k} blocks, not 9" in str(other.interval_reason)


def test_the_paper_interval_of_samples() -> None:
    found = dm.mean(X, interval="closed-form", rng=0, blocks=dm.SampledBlocks(tau=0.3))
    k, size = morm_blocks(0.99, 0.3, X.size)
    assert (found.n_blocks, found.block_size) == (k, (size, size))
    low, high = interval(found)
    right = paper_margin_morm(mean_variance(X.var(), size), 0.3)
    assert (high - low) / 2 == pytest.approx(right, rel=0.3)
    other = dm.mean(X, interval="closed-form", rng=0, blocks=dm.SampledBlocks(9, size=100))
    assert other.interval is None and "not 9" in str(other.interval_reason)
    k, size = morm_blocks(0.99, 0.45, X.size)
    for given, holds in ((size - 1, True), (size, True), (size + 1, False), (X.size, False)):
        mine = dm.mean(X, interval="closed-form", rng=0, blocks=dm.SampledBlocks(k, size=given))
        assert (mine.interval is not None) == holds
        assert holds or f"at most {size:,} rows" in str(mine.interval_reason)


def test_the_cantelli_interval_of_samples() -> None:
    found = dm.mean(X, rng=0, blocks=dm.SampledBlocks(201, size=400))
    low, high = interval(found)
    assert found.interval_kind == "cantelli"
    half = resampled_margin(X.var() / 400, 201, X.size / 400, 0.01)
    assert (high - low) / 2 == pytest.approx(half, rel=0.3)
    none = dm.mean(X, rng=0, blocks=dm.SampledBlocks(9, size=1))
    assert none.interval is None and none.interval_reason == "samples of one row have no variance"
    x = X.copy()
    x[0] = np.inf
    non_finite = dm.mean(x, rng=3, blocks=dm.SampledBlocks(9, size=1_000))
    assert (
        non_finite.n_non_finite_blocks
        and non_finite.interval is None
        and "non-finite" in str(non_finite.interval_reason)
    )


def test_no_interval_where_none_is_wanted() -> None:
    for options in ({}, {"n_blocks": 5}, {"scheme": "swor"}):
        found = flat(dm.mean)(X, interval="none", rng=0, **options)
        assert (found.interval, found.interval_kind, found.interval_reason) == (None, "none", "not asked for")


def test_small_groups_do_not_break_the_paper_interval() -> None:
    table = pa.table({"x": X[:2_010], "k": ["many"] * 2_000 + ["few"] * 10})
    few, many = dm.mean(table, "x", by="k", interval="closed-form", rng=0, blocks=5)
    assert interval(many) and few.n_rows == 10
    tiny = pa.table({"x": X[:2_003], "k": ["many"] * 2_000 + ["few"] * 3})
    few, many = dm.mean(tiny, "x", by="k", interval="closed-form", rng=0, blocks=5)
    assert interval(many) and few.interval is None and few.interval_reason
    for options in ({"n_blocks": 9, "block_size": 1_000}, {"tau": 0.3}):
        few, many = flat(dm.mean)(tiny, "x", by="k", scheme="swor", interval="closed-form", rng=0, **options)
        assert few.interval is None and few.interval_reason


@pytest.mark.parametrize("options", [{}, {"scheme": "swor", "block_size": 50}, {"order": "stored"}], ids=str)
def test_of_an_even_number_of_blocks_the_lower_middle_one_is_the_answer(options: dict[str, Any]) -> None:
    found = flat(dm.mean)(X, n_blocks=4, rng=0, **options)
    assert found.n_blocks == 4 and found.estimate == np.sort(found.block_estimates)[1]


def test_up_to_half_of_the_blocks_may_be_non_finite() -> None:
    x = X.copy()
    x[:4] = np.inf
    found = dm.mean(x, rng=0, blocks=dm.StoredBlocks(9))
    assert found.n_non_finite_blocks == 1 and math.isfinite(found.estimate)
    step = -(-x.size // 9)
    for non_finite in range(1, 10):
        y = X.copy()
        y[np.arange(non_finite) * step + 1] = -np.inf
        if non_finite <= 4:
            found = dm.mean(y, rng=0, blocks=dm.StoredBlocks(9))
            assert (found.n_non_finite_blocks, found.n_inf) == (non_finite, non_finite) and math.isfinite(
                found.estimate
            )
        else:
            with pytest.raises(
                dm.NoAnswerError, match=f"{non_finite} of 9 blocks are non-finite .{non_finite} infinite"
            ):
                dm.mean(y, rng=0, blocks=dm.StoredBlocks(9))


def test_half_non_finite_samples_have_no_answer() -> None:
    x = np.array([np.inf, 1.0, 2.0, 3.0])
    with pytest.raises(dm.NoAnswerError, match="blocks are non-finite"):
        dm.mean(x, rng=0, blocks=dm.SampledBlocks(9, size=4))


def test_outlying_rows_are_screened_out_and_the_sample_mean_is_lost() -> None:
    x = X.copy()
    x[::500] = 1e12
    found = dm.mean(x, rng=0)
    assert found.flags == ("contaminated",) and found.n_screened_out > 20
    assert abs(found.estimate) < 0.1 and found.plain_estimate > 1e9
    low, high = interval(found)
    assert low < 0 < high


def test_bad_files_are_found_and_named(tmp_path: Path) -> None:
    """A minority of files off by ten standard deviations: rows alone cannot tell, files can."""
    for i in range(60):
        g = np.random.default_rng(i)
        write(tmp_path / f"{i:02}.parquet", {"x": g.normal(10.0 if i in (7, 31) else 0.0, 1.0, 400)})
    found = dm.mean(tmp_path, rng=0)
    assert "files disagree" in found.flags
    assert found.accused_files == ("07.parquet", "31.parquet") and found.files_named
    assert "2 files hold other values than the rest: 07.parquet, 31.parquet" in found.remarks()
    assert abs(found.estimate) < 0.15 and abs(found.plain_estimate) > 0.2
    assert found.other_estimate is not None and any(
        "this estimate uses whole files as blocks" in note for note in found.notes
    )
    repaired = dm.mean(tmp_path, rng=0, blocks=45)
    assert repaired.status == "files disagree" and abs(repaired.estimate) < 0.15 and repaired.n_blocks == 45
    assert repaired.accused_files == ("07.parquet", "31.parquet")
    given = dm.mean(tmp_path, rng=0, blocks=45, passes=1)
    assert given.status == "breakdown point exceeded" and "files disagree" not in given.flags
    assert given.other_estimate is not None and abs(given.other_estimate) < 0.15 < abs(given.estimate)
    assert any("uses rows, because the number of blocks was given" in note for note in given.notes)
    clean = tmp_path / "clean"
    for i in range(60):
        write(clean / f"{i:02}.parquet", {"x": np.random.default_rng(i).normal(size=400)})
    assert dm.mean(clean, rng=0).accused_files == ()


@pytest.mark.slow
def test_the_same_files_are_named_with_groups_and_on_their_page(tmp_path: Path) -> None:
    """Of a cell's files only those that stand out alone; where nobody can look again, all of them."""
    lake = tmp_path / "lake"
    for i in range(200):  # so many share the cells of groups
        g = np.random.default_rng(i)
        x = g.normal(10.0 if i in (7, 31, 60, 90, 120, 150) else 0.0, 1.0, 400)
        write(lake / f"{i:03}.parquet", {"x": x, "k": np.arange(400) % 2})
    found = dm.mean(lake, "x", by="k", rng=0)
    bad = tuple(f"{i:03}.parquet" for i in (7, 31, 60, 90, 120, 150))
    for one in found:
        assert (one.accused_files, one.files_named) == (bad, True)
    page = tmp_path / "page.html"
    dm.write_results(found, page)
    text = page.read_text("utf-8")
    assert "These 6 files hold other values than the rest" in text and text.count("exclude=[") == 1
    # once in the list, once in the file that the command names
    assert all((text.count(f"<li>{name}</li>"), text.count(name)) == (1, 2) for name in bad)
    assert "\n".join(bad) in text and text.count("@bad.txt") == 1
    kept = dm.mean(lake, "x", by="k", rng=0, state=tmp_path / "sums")
    assert not kept[0].files_named and set(found[0].accused_files) < set(kept[0].accused_files)
    assert any("bad files are among" in remark for remark in kept[0].remarks())


def test_a_mean_dominated_by_few_rows_says_so() -> None:
    """Five ones of 10,000 rows; not the 2,000 of 100,000, nor 400 payers of 20,000 users."""
    g = np.random.default_rng(1)
    assert "dominated by few rows" in dm.mean((np.arange(10_000) % 2_000 == 7) * 1.0, rng=0).flags
    assert dm.mean((g.random(100_000) < 0.02) * 1.0, rng=0).status == "ok"
    for seed in range(10):
        g = np.random.default_rng(seed)
        spent = np.where(g.random(20_000) < 0.02, g.lognormal(3.0, 1.0, 20_000), 0.0)
        assert dm.mean(spent, rng=seed).status == "ok"


@pytest.mark.slow
def test_an_experiment_with_two_per_cent_of_payers_is_carried_by_them_all() -> None:
    """The negative control: five payers in an arm."""
    arm = np.repeat(["a", "b"], 20_000)
    for seed in range(10):
        g = np.random.default_rng([1, seed])
        spent = np.where(g.random(arm.size) < 0.02, g.lognormal(3.0, 1.0, arm.size), 0.0)
        assert dm.difference({"x": spent, "arm": arm}, "x", by="arm", rng=seed).status == "ok"
    spent[20_000:] = np.arange(20_000) % 4_000 == 7
    assert "dominated by few rows" in dm.difference({"x": spent, "arm": arm}, "x", by="arm", rng=0).flags


def test_the_path_shows_every_level() -> None:
    found = dm.mean(X, rng=0)
    levels = [level for level, _, _ in found.path]
    assert levels[:4] == [5, 7, 9, 15] and levels == sorted(levels)
    assert all(math.isfinite(e) and h > 0 for _, e, h in found.path)


# --- results as JSON, tables and files


@pytest.fixture
def found(tmp_path: Path) -> Any:
    k = np.array(["a"] * 3_000 + ["b"] * 3 + ["c"] * 3)
    x = X[:3_006].copy()
    x[-3:] = np.inf
    write(tmp_path / "in" / "a.parquet", {"k": k, "x": x})
    return dm.mean(tmp_path / "in", "x", by="k", rng=0)


SHOWN = [
    "column",
    "group",
    "estimate",
    "interval",
    "interval_kind",
    "confidence_level",
    "status",
    "flags",
    "n_rows",
    "n_used",
    "n_null",
    "n_nan",
    "n_inf",
    "n_blocks",
    "block_size",
    "n_non_finite_blocks",
    "plain_estimate",
    "scheme",
]


def test_json_has_null_instead_of_nan(found: Any) -> None:
    document = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert list(document) == ["schema_version", "results", "data", "run"]
    assert set(document["run"]) == {"seconds", "seed", "workers", "versions", "call"}
    assert set(document["data"]) == {"n_files", "n_bytes", "skipped", "source", "where"}
    for shown, result in zip(document["results"], found, strict=True):
        assert list(shown)[: len(SHOWN)] == SHOWN
        assert shown["group"] == result.group
    non_finite = document["results"][2]
    assert (non_finite["estimate"], non_finite["plain_estimate"], non_finite["interval"]) == (
        None,
        None,
        None,
    )
    assert non_finite["status"] == "no finite answer" and non_finite["interval_reason"]


def test_one_result_alone_as_json() -> None:
    one = dm.mean(X, rng=0)
    shown = json.loads(json.dumps(one.to_dict(), allow_nan=False))
    assert shown["estimate"] == one.estimate and shown["group"] is None
    assert shown["interval"] == list(interval(one)) and shown["block_size"] == list(one.block_size)


def test_one_result_alone_as_table_and_text(tmp_path: Path) -> None:
    one = dm.mean(X, rng=0)
    table = one.to_arrow()
    assert table.num_rows == 1 and table.column("estimate").to_pylist() == [one.estimate]
    assert "sample mean" in str(one) and "MeanResult(" in repr(one)
    dm.write_results(one, tmp_path / "one.json")
    assert json.loads((tmp_path / "one.json").read_text())["run"]["seed"] == 0


@pytest.mark.parametrize("ending", [".json", ".parquet", ".csv", ".html"])
def test_results_in_files(found: Any, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"out{ending}"
    dm.write_results(found, path)
    if ending == ".json":
        assert json.loads(path.read_text())["results"][0]["estimate"] == found[0].estimate
    elif ending == ".parquet":
        table = pq.read_table(path)
        assert table.column("estimate").to_pylist()[0] == found[0].estimate
        assert table.column("k").to_pylist() == ["a", "b", "c"]
    elif ending == ".csv":
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert float(rows[0]["estimate"]) == found[0].estimate and rows[1]["k"] == "b"
    else:
        text = path.read_text()
        assert "<table" in text and "no finite answer" in text
    assert [p.name for p in tmp_path.iterdir() if p.is_file()] == [path.name], "nothing half-written is left"


def test_texts_name_groups_and_reasons(found: Any) -> None:
    text = str(found)
    words = ("estimate", "sample mean", "no finite answer", "too few different values", "3 infinite")
    for word in words:
        assert word in text
    assert "nan" not in text.lower().replace("nan ", "")


def test_same_bits_tells_the_smallest_difference() -> None:
    from dataclasses import replace

    one = dm.mean(X, rng=0)
    assert one == one and one == replace(one, run={}, data={})
    assert one != replace(one, estimate=float(np.nextafter(one.estimate, 2.0)))
    assert replace(one, estimate=0.0) != replace(one, estimate=-0.0)
    assert replace(one, estimate=math.nan) == replace(one, estimate=-math.nan)
    assert one != replace(one, block_estimates=one.block_estimates[::-1].copy())
    assert one != replace(one, group={"k": 1})
    assert one != replace(one, n_blocks=float(one.n_blocks))  # type: ignore[arg-type]
