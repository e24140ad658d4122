"""Every number of a tournament agrees with the definitions, evaluated pair by pair."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import tournament_twin as twin

import distmom as dm

LOSSES: dict[str, Any] = {
    "squared": lambda y, f: (y - f) ** 2,
    "absolute": lambda y, f: abs(y - f),
    "huber": lambda y, f: (y - f) ** 2 / 2 if abs(y - f) <= 1.0 else abs(y - f) - 0.5,
    "pinball": lambda y, f: max(0.5 * (y - f), -0.5 * (y - f)),
    "zero_one": lambda y, f: float(y != f),
    "log": lambda y, f: -math.log(f if y == 1 else 1.0 - f),
}
K = 9
EVERY_DISTANCE = 1e9
"""A level that leaves all, and so needs the distance of every candidate to all that beat it."""


def data(loss: str, seed: int, m: int = 5, n: int = 700) -> tuple[dict[str, np.ndarray], list[str]]:
    g = np.random.default_rng(seed)
    x = g.normal(size=n)
    y = x + g.standard_t(2.1, size=n)
    predictions = [x * (0.2 + 0.4 * i) + 0.1 * g.normal(size=n) for i in range(m)]
    if loss in ("log", "zero_one"):
        y = (y > 0).astype(float)
        predictions = [1.0 / (1.0 + np.exp(-p)) for p in predictions]
    if loss == "zero_one":
        predictions = [(p > 0.4 + 0.05 * i).astype(float) for i, p in enumerate(predictions)]
    names = [f"p{i}" for i in range(m)]
    return {"y": y, **dict(zip(names, predictions, strict=True))}, names


def check(found: dm.TournamentResult, want: twin.Twin, names: list[str]) -> None:
    duels = found.duels
    assert duels.names == tuple(names)
    for mine, theirs in zip(duels.block_losses, want.losses, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)
    assert duels.loses.tolist() == want.loses
    assert duels.last_loses is not None and duels.last_loses.tolist() == want.last_loses
    known = ~np.isnan(duels.distances)
    np.testing.assert_allclose(duels.distances[known], np.array(want.phi)[known], rtol=1e-12)
    assert found.beta_r == pytest.approx(want.beta_r, rel=1e-12)
    assert found.finalists == tuple(names[f] for f in want.finalists)
    assert found.champions == tuple(names[f] for f in want.champions)
    assert found.cycle == want.cycle


@pytest.mark.parametrize("beta_r", [None, 0.2, EVERY_DISTANCE])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.one_in(3)
def test_the_definitions_give_the_same(loss: str, beta_r: float | None) -> None:
    columns, names = data(loss, 3)
    found = dm.tournament(columns, names, "y", loss=loss, rng=5, blocks=K, match=dm.Match(beta_r=beta_r))
    distance = "prediction" if loss in ("squared", "absolute", "huber", "pinball") else "loss"
    cells = twin.cells_of(K, 700, 5)
    predictions = [columns[name] for name in names]
    want = twin.tournament(
        predictions, columns["y"], cells, K, LOSSES[loss], distance=distance, beta_r=beta_r
    )
    check(found, want, names)
    for f, name in enumerate(names):
        line = found.candidates[name]
        allowed = [g for g in range(len(names)) if want.phi[f][g] > want.beta_r]
        lost = sum(want.loses[f][g] for g in allowed)
        if line.n_not_evaluated == 0:
            assert (line.n_allowed, line.n_lost, line.n_won) == (len(allowed), lost, len(allowed) - lost)
    if beta_r == EVERY_DISTANCE:
        assert not np.isnan(found.duels.distances[np.array(want.loses)]).any()
        thresholds = [found.candidates[name].threshold for name in names]
        np.testing.assert_allclose(thresholds, want.t, rtol=1e-12)


def test_risks_are_those_of_all_parts() -> None:
    columns, names = data("squared", 1)
    found = dm.tournament(columns, names, "y", rng=0, blocks=K)
    for i, name in enumerate(names):
        blocks = np.concatenate([losses[i] for losses in found.duels.block_losses])
        line = found.candidates[name]
        assert line.estimate == twin.median(blocks.tolist())
        plain = ((columns["y"] - columns[name]) ** 2).mean()
        assert line.plain_estimate == pytest.approx(plain, rel=1e-12)
        assert line.interval is not None and line.interval[0] <= line.estimate <= line.interval[1]
        assert line.plain_interval is not None
        assert sum(line.plain_interval) / 2 == pytest.approx(plain, rel=1e-12)


def test_any_function_is_a_loss_and_any_callable_a_candidate() -> None:
    columns, _ = data("squared", 2)

    def own(y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return np.abs(y - f) ** 1.5

    def half(row: dict[str, np.ndarray]) -> np.ndarray:
        return 0.5 * row["p1"]

    found = dm.tournament(columns, {"p0": "p0", "half": half}, "y", features="p1", loss=own, rng=0, blocks=K)
    cells = twin.cells_of(K, 700, 0)
    predictions = [columns["p0"], 0.5 * columns["p1"]]
    want = twin.tournament(
        predictions, columns["y"], cells, K, lambda y, f: abs(y - f) ** 1.5, distance="loss"
    )
    check(found, want, ["p0", "half"])
    assert found.settings["loss"] == "own"
