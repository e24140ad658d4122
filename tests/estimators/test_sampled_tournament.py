"""Tournaments of single rows on sampled blocks (MoRM) agree with the definitions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import tournament_twin as twin
from mean_lakes import write

import distmom as dm
from distmom.numerics.part_rows import rows_of_part
from distmom.numerics.random import resolve_seed
from distmom.numerics.row_samples import RowSamples

K, B, SEED = 5, 40, 3
SEED_BITS = resolve_seed(SEED)[0]
NAMES = ["p0", "p1", "p2", "p3"]


def lake(folder: Path) -> tuple[Path, dict[str, np.ndarray]]:
    """Three files; the target of one row in fifty is null, two predictions are."""
    g = np.random.default_rng(0)
    n = 450
    x = g.normal(size=n)
    y = x + g.standard_t(2.1, n)
    y[::50] = np.nan
    predictions = {name: x * (0.7 + 0.15 * i) + 0.1 * g.normal(size=n) for i, name in enumerate(NAMES)}
    predictions["p1"][[7, 211]] = np.nan
    columns = {"y": y, **predictions}
    for i, (a, b) in enumerate([(0, 100), (100, 101), (101, n)]):
        some = {c: pa.array(v[a:b], mask=np.isnan(v[a:b])) for c, v in columns.items()}
        write(folder / f"{i}.parquet", some, row_group_size=70)
    return folder, columns


def by_definition(columns: dict[str, np.ndarray], loss: Any, distance: str, again: bool) -> Any:
    """Block losses of the three parts, who is beaten, Phi."""
    n, y = len(columns["y"]), columns["y"]
    good = int((~np.isnan(y)).sum())
    drawn = int(np.ceil(B / (good / n)))
    parts = []
    for part in range(3):
        places = RowSamples(SEED_BITS, np.array([n // 3]), drawn, again).numbers(part * K, K)
        rows = rows_of_part(SEED_BITS, 3, part, places)
        parts.append([[r for r in block if not np.isnan(y[r])] for block in rows.tolist()])

    def one(f: str, r: int) -> float:
        return loss(float(y[r]), float(columns[f][r]))

    def gap(f: str, g: str, r: int) -> float:
        a, b = (float(columns[c][r]) if distance == "prediction" else one(c, r) ** 0.5 for c in (f, g))
        if np.isfinite(a) and np.isfinite(b):
            return abs(a - b)
        return np.inf if np.isfinite(a) or np.isfinite(b) else 0.0

    losses = [
        [[twin.finite_or_infinite([one(f, r) for r in block]) for block in part] for f in NAMES]
        for part in parts
    ]
    phi = [
        [twin.median([sum(gap(f, g, r) for r in b) / len(b) for b in parts[0]]) for g in NAMES] for f in NAMES
    ]
    return losses, twin.beaten(losses[1]), twin.beaten(losses[2]), phi


@pytest.mark.parametrize("scheme", ["swor", "monte_carlo"])
@pytest.mark.parametrize("distance", ["prediction", "loss"])
def test_the_definitions_give_the_same(scheme: str, distance: str, tmp_path: Path) -> None:
    folder, columns = lake(tmp_path)
    how: dict[str, Any] = {"loss": "absolute", "distance": distance, "scheme": scheme, "rng": SEED}
    found = dm.tournament(folder, NAMES, "y", n_blocks=K, block_size=B, table="full", **how)
    losses, loses, last, phi = by_definition(
        columns, lambda y, f: abs(y - f), distance, scheme == "monte_carlo"
    )
    _, level, finalists, champions, cycle = twin.play(loses, last, phi, None)
    for mine, theirs in zip(found.duels.block_losses, losses, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)
    assert found.duels.loses.tolist() == loses
    assert found.duels.last_loses is not None and found.duels.last_loses.tolist() == last
    np.testing.assert_allclose(found.duels.distances, phi, rtol=1e-12)
    assert found.beta_r == pytest.approx(level, rel=1e-12)
    assert found.finalists == tuple(NAMES[f] for f in finalists)
    assert found.champions == tuple(NAMES[f] for f in champions) and found.cycle == cycle
    assert found[0].interval is None and found[0].n_null == 9 and found[0].n_used == 441
    lazy = dm.tournament(folder, NAMES, "y", n_blocks=K, block_size=B, **how)
    assert (lazy.champions, lazy.finalists, lazy.beta_r) == (found.champions, found.finalists, found.beta_r)


def test_threads_batches_and_states_change_no_bit(tmp_path: Path) -> None:
    folder, _ = lake(tmp_path / "lake")
    candidates = {**{name: name for name in NAMES}, "twice": lambda row: 2.0 * row["p0"]}
    how: dict[str, Any] = {"features": "p0", "scheme": "swor", "table": "full", "rng": 0}
    want = dm.tournament(folder, candidates, "y", threads=1, **how)
    state = tmp_path / "s"
    assert dm.tournament(folder, candidates, "y", threads=3, batch_rows=17, state=state, **how).same_bits(
        want
    )
    again = dm.tournament(folder, candidates, "y", state=state, **how)
    assert again.same_bits(want) and again.data["rounds"]["n_rounds_before"] == 4
    assert (
        want.settings["blocks"] == [9, 9, 9]
        and dm.explain_tournament(folder, candidates, "y", **how)["drawn"] > 0
    )
