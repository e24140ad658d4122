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
def test_a_code_of_all_groups_is_set_aside_in_each(share: float) -> None:
    k, x = grouped()
    bad = np.random.default_rng(1).choice(N, round(share * N), replace=False)
    y = x.copy()
    y[bad] = -9999.0
    found = dm.mean({"x": y, "k": k}, "x", by="k", rng=0)
    assert [r.status for r in found] == ["share set aside"] * GROUPS
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
    assert [r.status for r in found] == ["ok", "ok", "ok", "share set aside", "ok", "ok"]
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
    assert len(calls) == 3  # and one for the column without groups


def _counting(plan, calls):  # type: ignore[no-untyped-def]
    def counted(*args, **options):  # type: ignore[no-untyped-def]
        calls.append(options)
        return plan(*args, **options)

    return counted


def test_files_are_read_again_where_that_is_allowed(tmp_path: Path) -> None:
    k, x = grouped()
    y, w = x.copy(), np.random.default_rng(3).uniform(0.5, 2.0, N)
    y[np.random.default_rng(1).choice(N, N // 50, replace=False)] = 1e6
    for i, part in enumerate(np.array_split(np.arange(N), 7)):
        pq.write_table(pa.table({"x": y[part], "k": k[part], "w": w[part]}), tmp_path / f"{i}.parquet")
    once = dm.mean(tmp_path, "x", by="k", passes=1, rng=0)
    assert all(r.far_rows is None for r in once)
    found = [dm.mean(tmp_path, "x", by="k", rng=0, executor=dm.Threads(threads)) for threads in (1, 2)]
    assert all(a == b for a, b in zip(*found, strict=True))
    assert {r.status for r in found[0]} == {"share set aside"}
    assert max(map(abs, errors(found[0], k, x))) < 6.0
    weighted = dm.mean(tmp_path, "x", by="k", weights="w", passes=2, rng=0)
    assert {r.status for r in weighted} == {"share set aside"}
    assert max(map(abs, errors(weighted, k, x))) < 7.0  # weights of this kind cost 13 % of the variance
    assert all(r.n_effective < r.n_used for r in weighted)
