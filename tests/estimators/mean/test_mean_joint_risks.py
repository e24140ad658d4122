"""Mean vectors under damage, what their radius and intervals cover, and their risk."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from flat import flat
from joint_vectors import JOINT, cloud
from mean_lakes import write

import distmom as dm

# --- damage


@JOINT
def test_outlying_vectors_are_screened_out_and_the_sample_mean_is_lost(joint: str) -> None:
    x = cloud(12_000)
    clean = dm.mean(x, joint=joint, rng=0)
    assert clean.status == "ok"
    x[np.arange(0, 12_000, 200), np.arange(60) % 3] = 1e8  # each in one coordinate
    found = dm.mean(x, joint=joint, rng=0)
    assert found.flags == ("contaminated",) and 50 <= found.n_screened_out <= 60
    error = np.linalg.norm(found.estimate - np.arange(3))
    # standard error of a row: sqrt(28/12000) = 0.05 in all coordinates together
    assert error < 0.25 and np.linalg.norm(clean.estimate - np.arange(3)) < 0.25
    assert np.abs(found.plain_estimate).min() > 1e5  # negative control


def lawful(distributions: Iterable[str]) -> pytest.MarkDecorator:
    """The lightest and the heaviest tails; those in between in the slow run."""
    between = ("student", "lognormal")
    return pytest.mark.parametrize(
        "distribution",
        [
            pytest.param(distribution, marks=pytest.mark.slow if distribution in between else ())
            for distribution in distributions
        ],
    )


@lawful(["normal", "student", "lognormal", "pareto"])
@JOINT
@pytest.mark.one_in(6)
def test_the_risk_under_scattered_damage_stays_that_of_clean_rows(distribution: str, joint: str) -> None:
    """40 vectors of 4,000 rows, 20 of which are outlying in one coordinate each."""
    vectors, names = table_of_vectors(distribution, 40, 4_000)
    rows = np.column_stack([vectors[name].to_numpy() for name in names])
    trace = np.cov(rows.T).trace()
    outlying = np.arange(0, len(rows), 200)
    rows[outlying, np.arange(outlying.size) % 3] = 1e6
    damaged = pa.table({**dict(zip(names, rows.T, strict=True)), "rep": vectors["rep"]})

    def risk(**options: Any) -> float:
        found = flat(dm.mean)(damaged, names, joint=joint, by="rep", rng=0, **options)
        return float(np.mean([4_000 * (r.estimate**2).sum() for r in found]) / trace)

    # 1.2 to 2.5 in a run of this test; the mean of 40 such numbers has a standard error of about 0.3
    assert risk() < 4.0
    assert risk(n_blocks=9) > 1e3, "negative control: without the screen nine blocks break"


@JOINT
def test_bad_files_are_found_by_vectors(tmp_path: Path, joint: str) -> None:
    for i in range(60):
        x = cloud(100, 2, seed=i)
        if i in (7, 30):
            x[:, 1] += 1e6
        write(tmp_path / f"{i:02}.parquet", {"v": pa.array(x.tolist(), pa.list_(pa.float64(), 2))})
    found = dm.mean(tmp_path, "v", joint=joint, rng=0, blocks="auto")
    assert np.linalg.norm(found.estimate - [0.0, 1.0]) < 0.3
    assert found.status != "ok" and found.plain_estimate[1] > 1e4
    given_number = dm.mean(tmp_path, "v", joint=joint, rng=0, blocks=9)
    assert given_number.status == "share screened out" and "files disagree" in given_number.flags
    assert np.linalg.norm(given_number.estimate - [0.0, 1.0]) < 0.3
    assert {"07.parquet", "30.parquet"} <= set(given_number.accused_files)
    units = dm.mean(tmp_path, "v", joint=joint, rng=0, blocks=dm.FileBlocks())
    assert np.linalg.norm(units.estimate - [0.0, 1.0]) < 0.3 and units.status == "share screened out"


DISTRIBUTIONS: dict[str, Callable[[np.random.Generator, Any], np.ndarray]] = {
    "normal": lambda g, size: g.normal(size=size),
    "student": lambda g, size: g.standard_t(3, size),
    "lognormal": lambda g, size: g.lognormal(size=size) - math.exp(0.5),
    "pareto": lambda g, size: g.pareto(3.0, size) - 0.5,
}


@lawful(DISTRIBUTIONS)
@pytest.mark.parametrize("options", [{"n_blocks": 7}, {}], ids=str)
@pytest.mark.one_in(6)
def test_radius_and_intervals_cover(distribution: str, options: dict[str, Any]) -> None:
    """400 vectors of 500 rows, dependent coordinates: misses are at most Binomial(400, 0.01).

    More than 14 have probability 1e-5 (and far fewer are seen: the bound is for the worst distribution).
    """
    vectors, names = table_of_vectors(distribution, 400)
    balls = list(flat(dm.mean)(vectors, names, joint=True, by="rep", rng=0, **options))
    away = np.array([np.linalg.norm(r.estimate) for r in balls])
    radius = np.array([r.radius for r in balls], float)
    assert (away > radius).sum() <= 14
    assert (away > radius / 12.0).sum() > 14, "negative control: a twelfth of the radius does not cover"
    boxes = flat(dm.mean)(vectors, names, joint="coordinatewise", by="rep", rng=0, **options)
    outside = sum(bool(((r.intervals[:, 0] > 0) | (r.intervals[:, 1] < 0)).any()) for r in boxes)
    # order statistics of skewed distributions cover the median of a block mean, which is not the mean
    assert outside <= (14 if options or distribution in ("normal", "student") else 45)


def table_of_vectors(distribution: str, repetitions: int, n: int = 500) -> tuple[pa.Table, list[str]]:
    """Vectors of mean zero, the third coordinate dependent on the first; a group for each repetition."""
    z = DISTRIBUTIONS[distribution](np.random.default_rng(len(distribution)), (n * repetitions, 3))
    z[:, 2] += 0.8 * z[:, 0]
    names = ["c0", "c1", "c2"]
    columns = {name: z[:, j] for j, name in enumerate(names)}
    return pa.table({**columns, "rep": np.repeat(np.arange(repetitions), n)}), names


def test_stored_blocks_take_the_spread_between_them() -> None:
    """Rows that resemble their neighbours: the variance inside blocks knows nothing of it."""
    vectors, names = table_of_vectors("normal", 20, n=2_000)
    missed = 0
    for i in range(20):
        part = vectors.slice(i * 2_000, 2_000)
        steps = np.column_stack([part[name].to_numpy() for name in names])
        for j in range(1, 2_000):  # AR(1)
            steps[j] += 0.97 * steps[j - 1]
        found = dm.mean(steps, joint=True, rng=0, blocks=dm.StoredBlocks(11), executor=dm.Threads(1))
        missed += np.linalg.norm(found.estimate) > (found.radius or 0.0)
        inside = np.cov(steps.T).trace()
        assert found.trace > 3.0 * inside, "the rows of a block count for a few independent ones"
    assert missed <= 3  # Binomial(20, 0.01): more with probability 4e-5


@pytest.mark.slow
def test_the_risk_is_close_to_that_of_the_sample_mean() -> None:
    """Clean vectors: the median of many blocks in three dimensions loses less than in one (pi/2)."""
    n, repetitions = 500, 200
    z = np.random.default_rng(5).normal(size=(n * repetitions, 3))
    table = pa.table({**{f"c{j}": z[:, j] for j in range(3)}, "rep": np.repeat(np.arange(repetitions), n)})
    found = list(dm.mean(table, ["c0", "c1", "c2"], joint=True, by="rep", rng=0, blocks=21))
    risk = np.mean([n * (r.estimate**2).sum() / 3 for r in found])
    plain = np.mean([n * (r.plain_estimate**2).sum() / 3 for r in found])
    # both have a relative standard error of sqrt(2/600) = 0.06; the ratio is 1.18 for many normal blocks
    assert plain == pytest.approx(1.0, abs=0.3) and 1.0 < risk / plain < 1.4
    by_columns = dm.mean(table, ["c0", "c1", "c2"], joint="coordinatewise", by="rep", rng=0, blocks=21)
    assert np.mean([n * (r.estimate**2).sum() / 3 for r in by_columns]) > risk
