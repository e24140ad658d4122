"""A bad share of rows in grouped means: the cuts of the column, in groups that lose few rows by them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import distmom as dm
from distmom.estimators.mean import question

N, GROUPS = 120_000, 6


def grouped(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Groups of about 20,000 normal rows, of different means and spreads."""
    g = np.random.default_rng(seed)
    k = g.integers(0, GROUPS, N)
    return k, 10.0 * k + g.normal(0.0, 1.0 + k)


def errors(results: dm.Results, k: np.ndarray, good: np.ndarray) -> list[float]:
    """Of each group, in standard errors of its mean."""
    found = []
    for r in results:
        mine = good[k == r.group["k"]]
        found.append((r.estimate - 10.0 * r.group["k"]) / (mine.std() / np.sqrt(mine.size)))
    return found


@pytest.mark.parametrize("share", [0.01, 0.10])
def test_a_code_of_all_groups_is_screened_out_in_each(share: float) -> None:
    k, x = grouped()
    bad = np.random.default_rng(1).choice(N, round(share * N), replace=False)
    y = x.copy()
    y[bad] = -9999.0
    found = dm.mean({"x": y, "k": k}, "x", by="k", rng=0)
    assert [r.status for r in found] == ["share screened out"] * GROUPS
    # the median of blocks has 1.57 of the variance: six of twelve groups beyond 6 has probability 2e-5
    assert max(map(abs, errors(found, k, x))) < 6.0
    for r in found:
        far, mine = r.far_rows, y[k == r.group["k"]]
        assert far is not None and far.n_rows == np.count_nonzero(mine == -9999.0)
        assert r.n_used == mine.size - far.n_rows and r.plain_estimate == pytest.approx(mine.mean())
        assert far.values[0][0] == -9999.0 and far.condition("x") == "x != -9999"
    [one] = [r for r in found if r.group["k"] == 2]
    again = dm.mean({"x": y, "k": k}, "x", by="k", where="x != -9999", rng=0)[2]
    assert (one.estimate, one.interval) == (again.estimate, again.interval)  # the twin: a condition


def test_what_is_damaged_in_one_group_changes_that_alone() -> None:
    k, x = grouped()
    y = x.copy()
    rows = np.flatnonzero(k == 3)
    y[rows[: rows.size // 50]] *= 1000.0
    found, clean = (dm.mean({"x": v, "k": k}, "x", by="k", rng=0) for v in (y, x))
    assert [r.status for r in found] == ["ok", "ok", "ok", "share screened out", "ok", "ok"]
    assert max(map(abs, errors(found, k, x))) < 6.0
    assert all(a == b for a, b in zip(found, clean, strict=True) if a.group["k"] != 3)


def test_a_rare_group_that_lies_far_away_stays() -> None:
    """It is not damage: by the cuts of the column it would lose all its rows."""
    k, x = grouped()
    k[:300], x[:300] = 99, np.random.default_rng(2).normal(1e5, 10.0, 300)
    rare = dm.mean({"x": x, "k": k}, "x", by="k", rng=0)[-1]
    assert rare.group == {"k": 99} and rare.far_rows is None and rare.n_used == 300
    assert rare.estimate == pytest.approx(1e5, rel=1e-4)


def test_clean_groups_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    k, x = grouped()
    monkeypatch.setattr(question, "plan_mean", _counting(question.plan_mean, calls := []))
    assert all(r.ok for r in dm.mean({"x": x, "k": k}, "x", by="k", rng=0))
    assert len(calls) == 1
    x[::50] = -9999.0
    dm.mean({"x": x, "k": k}, "x", by="k", rng=0)
    assert len(calls) == 2  # the rows within the cuts are read with the same plan


def _counting(plan, calls):  # type: ignore[no-untyped-def]
    def counted(*args, **options):  # type: ignore[no-untyped-def]
        calls.append(options)
        return plan(*args, **options)

    return counted


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Seven files, 2% of whose rows are 10^6; and weights."""
    k, x = grouped()
    y, w = x.copy(), np.random.default_rng(3).uniform(0.5, 2.0, N)
    y[np.random.default_rng(1).choice(N, N // 50, replace=False)] = 1e6
    folder = tmp_path_factory.mktemp("lake")
    for i, part in enumerate(np.array_split(np.arange(N), 7)):
        pq.write_table(pa.table({"x": y[part], "k": k[part], "w": w[part]}), folder / f"{i}.parquet")
    return folder


@pytest.mark.parametrize("weights", [None, "w"])
def test_files_give_the_rows_of_all_or_those_of_the_sample(lake: Path, weights: str | None) -> None:
    k, x = grouped()
    for passes, most in ((1, 7.0), (2, 7.0)):  # the sample has half of the rows; weights cost 13%
        found = dm.mean(lake, "x", by="k", weights=weights, passes=passes, rng=0)
        assert {r.status for r in found} == {"share screened out"}
        assert max(map(abs, errors(found, k, x))) < most
        for r in found:
            assert r.far_rows is not None and r.far_rows.of_sample == (passes == 1)
            low, high = r.far_rows.share_interval
            assert low <= r.far_rows.share <= high and r.far_rows.share == pytest.approx(0.02, rel=0.3)
            assert r.n_effective is None or r.n_effective < r.n_used


def test_the_sample_of_groups_is_the_same_for_any_cutting_of_the_work(lake: Path, tmp_path: Path) -> None:
    once = dm.mean(lake, "x", by="k", passes=1, rng=0)
    two = dm.mean(lake, "x", by="k", passes=2, rng=0)
    for passes, expected in ((1, once), (2, two)):
        scan = dm.scan(lake, batch_rows=999)
        again = dm.mean(scan, "x", by="k", passes=passes, rng=0, executor=dm.Threads(2))
        assert all(a == b for a, b in zip(again, expected, strict=True))
    # states and streams keep a smaller sample: their answers agree with each other
    saved = dm.mean(lake, "x", by="k", rng=0, state=tmp_path / "one")
    merged = dm.merge_states(tmp_path / "one")
    assert all(a.estimate == b.estimate and a.flags == b.flags for a, b in zip(saved, merged, strict=True))
    assert {r.status for r in saved} == {"share screened out"}


def test_streams_of_groups_set_a_share_aside() -> None:
    k, x = grouped()
    y = x.copy()
    y[np.random.default_rng(1).choice(N, N // 50, replace=False)] = 1e6
    parts = [pa.table({"x": y[i::3], "k": k[i::3]}) for i in range(3)]
    parts[0] = parts[0].filter(pa.array(k[::3] > 1))  # groups are met one after another
    whole, first = (dm.MeanAccumulator("x", by="k", name=name, rng=0) for name in ("one", "two"))
    for part in parts:
        whole.update(part)
    first.update(parts[0])
    gone_on = dm.MeanAccumulator.from_bytes(first.to_bytes())
    assert gone_on.to_bytes() == first.to_bytes()
    found = whole.result()
    assert {r.status for r in found} == {"share screened out"}
    assert max(map(abs, errors(found, k, x))) < 8.0  # 16,384 rows of 120,000: sqrt(1.57 * 7.3 / 7.3) each
    other = dm.MeanAccumulator("x", by="k", name="three", rng=0)
    other.update(parts[1])
    gone_on.merge(other)
    assert [r.group["k"] for r in gone_on.result()] == list(range(GROUPS))
    assert {r.status for r in gone_on.result()} == {"share screened out"}


def test_each_group_tells_what_is_its_own() -> None:
    """One has a share screened out, one has rows far out that are told, and the others say nothing."""
    k, x = grouped()
    rows = [np.flatnonzero(k == g) for g in range(GROUPS)]
    x[rows[1][:400]] = 10.0 + 2.0 * 500.0
    x[rows[4][:400]] = 40.0 + 5.0 * 20.0  # 20 spreads
    found = dm.mean({"x": x, "k": k}, "x", by="k", rng=0)
    told = ["ok", "share screened out", "ok", "ok", "share far out", "ok"]
    assert [str(r.status) for r in found] == told
    assert found[4].far_rows.action == "told" and found[4].far_rows.values[0][0] == 140.0
    rows_of = found.to_arrow().to_pylist()
    assert [row["status"] for row in rows_of] == told


def test_infinite_values_are_no_rows_far_out() -> None:
    k, x = grouped()
    x[:3] = np.inf
    assert all(r.far_rows is None for r in dm.mean({"x": x, "k": k}, "x", by="k", rng=0))
