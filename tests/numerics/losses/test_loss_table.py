"""A new loss is one row of the table: rows, cells, margins, pairs, risks and learners know it then."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import distmom as dm
from distmom.numerics.kernels.risk import Ranking
from distmom.numerics.losses.cell_sums import ABREAST, add_losses, add_measures
from distmom.numerics.losses.pair_risks import RankingRisk
from distmom.numerics.losses.row_risks import LinearRisk
from distmom.numerics.losses.table import LOSSES, LossFunction, Parameter, names_of, where


def pseudo_huber(r: Any, t: float) -> Any:
    """Charbonnier's loss, t^2 (sqrt(1 + (r/t)^2) - 1)."""
    return t * t * (np.sqrt(1.0 + (r / t) * (r / t)) - 1.0)


def pseudo_huber_slope(r: Any, t: float) -> Any:
    return r / np.sqrt(1.0 + (r / t) * (r / t))


def squared_hinge(z: Any, _t: float) -> Any:
    return where(z > -1.0, (1.0 + z) * (1.0 + z), 0.0)


def squared_hinge_slope(z: Any, _t: float) -> Any:
    return where(z > -1.0, 2.0 * (1.0 + z), 0.0)


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> None:
    for loss in (
        LossFunction(
            "pseudo_huber", "residual", pseudo_huber, pseudo_huber_slope, Parameter("threshold", 1.0)
        ),
        LossFunction("squared_hinge", "margin", squared_hinge, squared_hinge_slope),
    ):
        monkeypatch.setitem(LOSSES, loss.name, loss)


def data(n: int = 2_000) -> dict[str, np.ndarray]:
    g = np.random.default_rng(0)
    y = g.standard_t(3, n)
    return {"y": y, "near": y + g.normal(size=n), "far": y + 3.0 * g.normal(size=n), "null": np.zeros(n)}


def test_a_tournament_and_a_scorer_know_the_name(rows: None) -> None:
    columns, names = data(), ["near", "far", "null"]
    found = dm.tournament(columns, names, "y", loss="pseudo_huber", rng=0, blocks=15)
    own = dm.tournament(
        columns,
        names,
        "y",
        loss=lambda y, f: pseudo_huber(y - f, 1.0),
        rng=0,
        blocks=15,
        match=dm.Match(distance="prediction"),
    )
    assert [c.candidate for c in found] == [c.candidate for c in own]
    assert found.champions == own.champions == ("near",)
    assert [c.estimate for c in found] == [c.estimate for c in own]
    wide = dm.tournament(columns, names, "y", rng=0, blocks=15, loss=dm.Loss("pseudo_huber", 9.0))
    assert wide[0].estimate > found[0].estimate
    for loss in ("squared_hinge", "ranking_pseudo_huber"):
        with pytest.raises(dm.ConfigError, match="pseudo_huber"):
            dm.tournament(columns, names, "y", loss=loss)

    class Mean:
        def predict(self, features: Any) -> np.ndarray:
            return np.full(len(features), columns["y"].mean())

    y = columns["y"]
    assert dm.robust_scorer("pseudo_huber")(Mean(), y[:, None], y) == dm.robust_scorer(
        lambda truth, predicted: pseudo_huber(truth - predicted, 1.0)
    )(Mean(), y[:, None], y)


def test_cells_have_the_same_bits_compiled(rows: None) -> None:
    columns, loss = data(), LOSSES["pseudo_huber"]
    y, f = columns["y"], columns["far"]
    f[3:5] = np.inf, np.nan
    cells, some = (np.arange(y.size) % 7).astype(np.int32), np.arange(100, y.size, 3)
    mine, theirs = np.zeros((2, 7, ABREAST)), np.zeros((2, 7, ABREAST))
    reach = np.zeros((2, ABREAST))
    add_losses(y, [f], cells, 0, mine[0], loss)
    add_losses(y, [f], cells, 0, theirs[0], loss, (loss, 1.0))
    add_measures(y, [f], cells[some], some, 0, mine[1], reach[0], lambda a, b: np.sqrt(loss(a, b)))
    add_measures(y, [f], cells[some], some, 0, theirs[1], reach[1], loss, (loss, 1.0), root=True)
    assert reach[0, 0] == reach[1, 0]
    assert np.array_equal(mine[:, :, 0], theirs[:, :, 0], equal_nan=True)


def test_a_row_of_the_same_name_is_compiled_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    y, cells = np.arange(5.0), np.zeros(5, np.int32)
    for value in (lambda r, t: r * r, lambda r, t: t * r * r):
        loss = LossFunction("own", "residual", value)
        mine = np.zeros((1, ABREAST))
        add_losses(y, [2.0 * y], cells, 0, mine, loss, (loss, 3.0))
        assert mine[0, 0] == float(np.sum(value(y, 3.0)))


def test_risks_descend_on_it(rows: None) -> None:
    g = np.random.default_rng(1)
    x, p = g.normal(size=(1, 40, 2)), np.array([0.3, -0.2, 0.1])
    y = x[0] @ [1.0, 2.0] + g.standard_t(3, 40)
    for risk, at in ((LinearRisk("pseudo_huber"), p), (RankingRisk("squared_hinge"), p[:2])):
        slope = risk.gradient(at, x[0], y)
        for c in range(at.size):
            step = 1e-6 * (np.arange(at.size) == c)
            up, down = (risk.losses(at + s * step, x, y[None])[0] for s in (1.0, -1.0))
            assert slope[c] == pytest.approx((up - down) / 2e-6, abs=1e-6)


def test_a_learner_and_a_kernel_take_it(rows: None) -> None:
    pytest.importorskip("sklearn")
    g = np.random.default_rng(2)
    x = g.normal(size=(1_000, 2))
    y = x @ [1.0, 2.0] + g.normal(size=1_000)
    model = dm.RobustLinearRegression(loss="pseudo_huber", random_state=0).fit(x, y)
    assert model.coef_ == pytest.approx([1.0, 2.0], abs=0.2)
    pairs = np.stack([y, x[:, 1]], axis=1)[:50]
    i, j = np.triu_indices(50, 1)
    z = -(pairs[i, 1] - pairs[j, 1]) * np.sign(pairs[i, 0] - pairs[j, 0])
    found = dm.ustatistic(pairs, kernel=Ranking("squared_hinge"), rng=0, blocks=1)  # type: ignore[arg-type]
    assert found.estimate == pytest.approx(squared_hinge(z, 0.0).mean(), rel=1e-12)


def test_names() -> None:
    assert names_of("residual", "labels") == ("squared", "absolute", "huber", "pinball", "zero_one", "log")
    assert names_of("residual", slope=True) == ("squared", "huber", "pinball")
    assert names_of("margin") == ("hinge", "logistic")


@pytest.mark.parametrize("name", [name for name, loss in LOSSES.items() if loss.slope is not None])
def test_slopes_are_differences_of_values(name: str) -> None:
    loss, x = LOSSES[name], np.linspace(-2.97, 3.01, 40)
    t = loss.given()
    assert loss.slope_at(x, t) == pytest.approx(
        (loss.at(x + 1e-6, t) - loss.at(x - 1e-6, t)) / 2e-6, abs=1e-5
    )
