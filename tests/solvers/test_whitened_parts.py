"""Whitening, touching parabolas, screens, trimmed means of gradients, and the noise of a gradient."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distmom.inference.share.gaps import FAR, NEAR, rows_apart
from distmom.numerics.linalg import whitening as whitening_module
from distmom.numerics.linalg.whitening import whitening, with_ones, wrapped
from distmom.numerics.losses.row_risks import LinearRisk, LogisticRisk, SoftmaxRisk
from distmom.numerics.losses.table import LOSSES
from distmom.solvers.aggregators import AGGREGATORS
from distmom.solvers.blocks import RiskBlocks
from distmom.solvers.coordinates import Coordinates, SeenBlocks
from distmom.solvers.optimality import most_ratio, noise_ratio
from distmom.solvers.pilot import pilot
from distmom.solvers.screen import HUGE

some = st.floats(-20, 20)


@given(
    some, some, st.sampled_from([("huber", 1.345), ("huber", np.inf), ("pinball", 0.3), ("logistic", 0.0)])
)
def test_parabolas_touch_the_loss_and_lie_above_it(at, x, of):
    loss, parameter = LOSSES[of[0]], of[1]
    if of[0] == "pinball" and abs(at) < 1e-3:
        return  # at the corner there is none
    value, slope, curvature = (
        float(part(np.array([at]), parameter)[0]) for part in (loss.at, loss.slope_at, loss.curvature_at)
    )
    above = value + slope * (x - at) + 0.5 * curvature * (x - at) ** 2
    assert curvature > 0.0 and above >= float(loss.at(np.array([x]), parameter)[0]) - 1e-9


def test_whitened_moments_are_one_and_what_does_not_vary_stays():
    g = np.random.default_rng(0)
    x = g.normal(size=(4_000, 3)) @ g.normal(size=(3, 3))
    x[:, 1] = x[:, 0] + 1e-4 * x[:, 1]
    z = x @ whitening(x)
    assert z.T @ z / 4_000 == pytest.approx(np.eye(3), abs=1e-6)
    both = np.column_stack([x[:, 0], x[:, 0], np.zeros(4_000)])
    T = whitening(both)
    values = np.linalg.eigvalsh((both @ T).T @ (both @ T) / 4_000)
    assert np.isfinite(T).all() and values == pytest.approx([0.0, 0.0, 1.0], abs=1e-9)
    assert np.linalg.cond(T) < 10.0  # no direction is blown up
    assert (whitening(np.zeros((5, 2))) == np.eye(2)).all()
    penalised = whitening(x, np.ones(3))
    assert penalised @ (x.T @ x / 4_000 + np.eye(3)) @ penalised == pytest.approx(np.eye(3), abs=1e-9)


def test_many_columns_are_scaled_one_by_one(monkeypatch):
    monkeypatch.setattr(whitening_module, "MOST_WHITENED", 2)
    x = np.random.default_rng(0).normal(size=(100, 3)) * [1.0, 10.0, 0.0]
    T = whitening(x)
    assert (np.diag(np.diag(T)) == T).all()
    assert ((x @ T) ** 2).mean(axis=0) == pytest.approx([1.0, 1.0, 0.0])


@pytest.mark.parametrize("risk", [LinearRisk("huber"), LogisticRisk(0.1), SoftmaxRisk(3, 0.1)], ids=repr)
def test_gradients_in_other_coordinates_are_those_of_the_losses_there(risk):
    g = np.random.default_rng(0)
    rows = g.normal(size=(4, 30, 2))
    targets = g.integers(0, 3 if isinstance(risk, SoftmaxRisk) else 2, size=(4, 30)).astype(float)
    place = Coordinates(whitening(with_ones(rows.reshape(-1, 2) @ [[1.0, 3.0], [0.0, 2.0]])))
    blocks = SeenBlocks(RiskBlocks(risk, rows, targets), place)
    v = g.normal(size=risk.n_parameters(2))
    found, h = blocks.gradients(v, range(4)), 1e-6
    for j in range(v.size):
        e = h * np.eye(v.size)[j]
        assert (blocks.losses(v + e) - blocks.losses(v - e)) / (2 * h) == pytest.approx(found[:, j], abs=1e-6)


def test_the_trimmed_mean_is_the_mean_of_alike_blocks_and_knows_no_outlying_ones():
    combine = AGGREGATORS["trimmed_mean"].combine
    g = np.random.default_rng(0).normal(size=(11, 20))
    assert combine(g) == pytest.approx(g.mean(axis=0))
    outlying = g.copy()
    outlying[:5] += 1e12
    assert combine(outlying) == pytest.approx(g[5:].mean(axis=0), abs=1e-9)
    outlying[5] += 1e12  # six of eleven: beyond what can be borne
    assert np.abs(combine(outlying)).max() > 1e6
    rare = np.zeros((11, 40))
    rare[np.arange(4), np.arange(4)] = 0.1  # levels that few blocks have
    rare += 0.1 * np.random.default_rng(1).normal(size=rare.shape)
    assert combine(rare) == pytest.approx(rare.mean(axis=0))


@pytest.mark.parametrize("p", [2, 3, 30])
def test_the_gradient_at_a_minimum_is_noise(p):
    """1,000 times: more often than 2% would be a mistake; a shift of one spread of a block is seen."""
    g = np.random.default_rng(p)
    most = most_ratio(p)
    above = sum(noise_ratio(g.normal(size=(31, p))) > most for _ in range(1_000))
    assert above < 20
    assert sum(noise_ratio(g.normal(size=(31, p)) + 1.0) > most for _ in range(200)) > 195
    assert np.isnan(noise_ratio(np.zeros((4, p)))) and noise_ratio(np.zeros((9, p))) == 0.0


def test_a_pilot_accuses_what_is_bad_and_nobody_else():
    g = np.random.default_rng(0)
    x = g.normal(size=(4_000, 4))
    y = x @ [1.0, 2.0, 0.0, -1.0] + 0.2 * g.normal(size=4_000)

    def furthest(values, near):
        return np.inf

    clean = pilot(LinearRisk("huber"), x, y, furthest)
    assert not clean.accused.any()
    assert clean.fit == pytest.approx([1.0, 2.0, 0.0, -1.0, 0.0], abs=0.03)  # nine standard errors
    bad = np.arange(4_000) % 10 == 0
    x[bad] += 6.0
    y[bad] -= 20.0
    x[1], y[2], x[3, 0] = np.inf, np.nan, HUGE
    found = pilot(LinearRisk("huber"), x, y, furthest)
    bad[[1, 2, 3]] = True
    assert (found.accused == bad).mean() > 0.999
    assert found.fit == pytest.approx(clean.fit, abs=0.03)
    assert np.abs(found.basis - clean.basis).max() < 0.05  # bad rows do not stretch the coordinates
    assert np.isfinite(wrapped(np.array([[np.nan, np.inf, -1e300]]))).all()


def gap(values, near):
    return float(rows_apart(np.sort(values), NEAR if near else FAR, modes=near).hi)


def noisy(seed, n=300):
    """Ten features that explain half of the target: five of a hundred are far out, the target is theirs."""
    g = np.random.default_rng(seed)
    x = g.normal(size=(n, 10))
    y = x @ np.full(10, 0.3) + g.normal(size=n)
    bad = np.arange(n) % 20 == 0
    return g, x, y, bad


def test_rows_apart_that_the_fit_does_not_expect_are_accused_though_many_fit_by_chance():
    for seed in range(10):
        g, x, y, bad = noisy(seed)
        x[bad] += g.normal(0.0, 20.0, (15, 10))
        found = pilot(LinearRisk("huber"), x, y, gap)
        assert (found.accused == bad).all()


def test_rows_apart_that_the_fit_expects_stay():
    for seed in range(10):
        g, x, y, bad = noisy(seed)
        x[bad] += g.normal(0.0, 20.0, (15, 10))
        y[bad] = x[bad] @ np.full(10, 0.3) + g.normal(size=15)  # a group of its own of the same model
        assert not pilot(LinearRisk("huber"), x, y, gap).accused.any()
        tails = np.exp(1.5 * g.normal(size=(2_000, 3)))  # noise that grows with them leaves no gap
        y = tails.sum(axis=1) + tails[:, 0] * g.normal(size=2_000)
        assert pilot(LinearRisk("huber"), tails, y, gap).accused.mean() < 0.001


def test_what_a_parabola_cannot_know_is_left_alone():
    x = np.zeros((50, 2))
    found = pilot(LinearRisk("squared"), x, np.zeros(50), lambda values, near: np.inf)
    assert not found.accused.any() and np.isfinite(found.basis).all()
    none = pilot(LinearRisk("squared"), np.full((50, 2), np.inf), np.zeros(50), lambda values, near: np.inf)
    assert none.accused.all() and none.fit is None
