"""Risks of blocks against sums over pairs and rows in plain Python, and gradients against differences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distmom.numerics.losses import block_risk, pair_risks
from distmom.numerics.losses.block_risk import UserRisk
from distmom.numerics.losses.cell_risks import QuantisationRisk, SoftCellRisk
from distmom.numerics.losses.pair_risks import MetricRisk, PairLabelRisk, RankingRisk
from distmom.numerics.losses.row_risks import LinearRisk, LogisticRisk, SoftmaxRisk

K, B, D = 3, 7, 3
M = np.array([[1.0, 0.2, 0.0], [0.2, 0.5, 0.1], [0.0, 0.1, 0.3]])


def margin(name, z):
    return max(0.0, 1.0 + z) if name == "hinge" else float(np.logaddexp(0.0, z))


def metric_twin(loss, balanced):
    def block(p, rows, targets):
        near, far = [], []
        for i in range(len(rows)):
            for j in range(i):
                away = rows[i] - rows[j]
                s = 1.0 if targets[i] == targets[j] else -1.0
                value = margin(loss, s * (away @ p.reshape(D, D) @ away - 2.0))
                (near if s > 0 else far).append(value)
        return 0.5 * np.mean(near) + 0.5 * np.mean(far) if balanced else np.mean(near + far)

    return block


def ranking_twin(loss):
    def block(p, rows, targets):
        found = []
        for i in range(len(rows)):
            for j in range(i):
                g = np.sign(targets[i] - targets[j])
                found.append(margin(loss, -(rows[i] - rows[j]) @ p * g) if g else 0.0)
        return np.mean(found) + 0.05 * p @ p

    return block


def linear_twin(loss):
    def one(r):
        if loss == "squared":
            return 0.5 * r * r
        if loss == "pinball":
            return 0.8 * r if r > 0 else -0.2 * r
        return 0.5 * r * r if abs(r) <= 1.345 else 1.345 * (abs(r) - 0.5 * 1.345)

    def block(p, rows, targets):
        w, b = p[:-1], p[-1]
        return np.mean([one(y - x @ w - b) for x, y in zip(rows, targets, strict=True)]) + 0.05 * w @ w

    return block


def softmax_twin(p, rows, targets):
    w = p.reshape(3, D + 1)
    found = []
    for x, y in zip(rows, targets, strict=True):
        z = w[:, :-1] @ x + w[:, -1]
        found.append(np.log(np.exp(z).sum()) - z[int(y)])
    return np.mean(found) + 0.05 * (w[:, :-1] ** 2).sum()


def logistic_twin(p, rows, targets):
    z = rows @ p[:-1] + p[-1]
    return np.mean(np.logaddexp(0.0, z) - targets * z) + 0.05 * p[:-1] @ p[:-1]


def quantisation_twin(p, rows, targets):
    return np.mean([min(((x - c) ** 2).sum() for c in p.reshape(2, D)) for x in rows])


def capped_twin(p, rows, targets):
    centres = p.reshape(2, D) / np.array([[0.5], [2.0]])
    return np.mean([min([2.0, *(((x - c) ** 2).sum() for c in centres)]) for x in rows])


def soft_twin(p, rows, targets):
    away = np.array([[((x - c) ** 2).sum() for c in p.reshape(2, D)] for x in rows])
    share = np.exp(-away / 1.5) / np.exp(-away / 1.5).sum(axis=1, keepdims=True)
    found = [
        share[i] @ share[j] * ((rows[i] - rows[j]) ** 2).sum() for i in range(len(rows)) for j in range(i)
    ]
    return np.mean(found)


def pair_label_twin(p, rows, targets):
    return np.mean(
        [margin("logistic", s * (z @ p.reshape(D, D) @ z - 2.0)) for z, s in zip(rows, targets, strict=True)]
    )


def user(p, rows, targets):
    residual = rows @ p - targets
    return float((residual**2).mean()), 2.0 * rows.T @ residual / len(rows)


W = np.array([0.5, -0.3, 0.2])
LABELS = ("labels", lambda g: g.integers(0, 2, (K, B)).astype(float))
NUMBERS = ("numbers", lambda g: g.normal(size=(K, B)))
TIED = ("tied", lambda g: g.integers(0, 4, (K, B)).astype(float))
SIGNS = ("signs", lambda g: g.choice([-1.0, 1.0], (K, B)))
THREE = ("three", lambda g: g.integers(0, 3, (K, B)).astype(float))
CASES = {
    **{
        f"metric {loss} {balanced}": (
            MetricRisk(loss, 2.0, balanced),
            metric_twin(loss, balanced),
            M.ravel(),
            LABELS,
        )
        for loss in ("hinge", "logistic")
        for balanced in (False, True)
    },
    **{
        f"ranking {loss}": (RankingRisk(loss, 0.1), ranking_twin(loss), W, TIED)
        for loss in ("hinge", "logistic")
    },
    **{
        f"linear {loss}": (
            LinearRisk(loss, quantile=0.8, penalty=0.1),
            linear_twin(loss),
            np.append(W, 0.4),
            NUMBERS,
        )
        for loss in ("squared", "huber", "pinball")
    },
    "logistic": (LogisticRisk(0.1), logistic_twin, np.append(W, 0.4), LABELS),
    "softmax": (SoftmaxRisk(3, 0.1), softmax_twin, np.linspace(-1, 1, 3 * (D + 1)), THREE),
    "quantisation": (QuantisationRisk(2), quantisation_twin, np.append(W, -W), NUMBERS),
    "quantisation, capped": (
        QuantisationRisk(2, 2.0, (0.5, 2.0)),
        capped_twin,
        np.append(0.5 * W, -2.0 * W),
        NUMBERS,
    ),
    "soft cells": (SoftCellRisk(2, 1.5), soft_twin, np.append(W, -W), NUMBERS),
    "pair labels": (PairLabelRisk("logistic"), pair_label_twin, M.ravel(), SIGNS),
    "a user's": (UserRisk(user, D), lambda p, x, y: user(p, x, y)[0], W, NUMBERS),
}


def drawn(case, seed):
    risk, twin, parameters, (_, targets) = CASES[case]
    g = np.random.default_rng(seed)
    return risk, twin, parameters, g.normal(size=(K, B, D)), targets(g)


@pytest.mark.parametrize("case", CASES)
def test_losses_are_those_of_plain_loops(case):
    risk, twin, parameters, rows, targets = drawn(case, 1)
    assert risk.n_parameters(D) == parameters.size
    right = [twin(parameters, x, y) for x, y in zip(rows, targets, strict=True)]
    assert risk.losses(parameters, rows, targets) == pytest.approx(right, rel=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_gradients_are_those_of_differences(case):
    """Central differences of step 1e-6 are right to about 1e-8 away from corners, which these rows are."""
    risk, _, parameters, rows, targets = drawn(case, 2)
    symmetric = "metric" in case or case == "pair labels"
    for k in range(K):
        gradient = risk.gradient(parameters, rows[k], targets[k])
        for i in range(parameters.size):
            step = np.zeros(parameters.size)
            step[i] = 1e-6
            if symmetric:  # the matrix stays symmetric
                step = (step.reshape(D, D) + step.reshape(D, D).T).ravel() / 2
            up, down = (
                risk.losses(parameters + s * step, rows[k : k + 1], targets[k : k + 1])[0] for s in (1, -1)
            )
            assert gradient @ step * 2 == pytest.approx(up - down, abs=3e-12, rel=1e-4)


@pytest.mark.parametrize("case", [n for n in CASES if "metric" in n or "rank" in n or "soft c" in n])
def test_pairs_taken_tile_by_tile_have_the_same_losses_and_gradients(case, monkeypatch):
    risk, _, parameters, _, _ = drawn(case, 3)
    g = np.random.default_rng(3)
    rows, targets = g.normal(size=(2, 41, D)), g.integers(0, 3, (2, 41)).astype(float)
    losses, gradient = risk.losses(parameters, rows, targets), risk.gradient(parameters, rows[0], targets[0])
    monkeypatch.setattr(block_risk, "MOST_PAIRS", 1)
    monkeypatch.setattr(pair_risks, "TILE", 1)  # tiles of 16 rows
    assert risk.losses(parameters, rows, targets) == pytest.approx(losses, rel=1e-13)
    assert risk.gradient(parameters, rows[0], targets[0]) == pytest.approx(gradient, rel=1e-11, abs=1e-13)


@given(st.integers(0, 2**32 - 1))
def test_a_metric_does_not_see_shifts_nor_the_order_of_rows(seed):
    risk, _, parameters, rows, targets = drawn("metric hinge False", seed)
    losses = risk.losses(parameters, rows, targets)
    assert risk.losses(parameters, rows + 10.0, targets) == pytest.approx(losses, rel=1e-9)
    order = np.random.default_rng(seed).permutation(B)
    assert risk.losses(parameters, rows[:, order], targets[:, order]) == pytest.approx(losses, rel=1e-12)


def test_an_outlying_row_ruins_its_own_block_and_no_other():
    risk, _, parameters, rows, targets = drawn("metric logistic False", 4)
    clean = risk.losses(parameters, rows, targets)
    rows[1, 2] = 1e200
    dirty = risk.losses(parameters, rows, targets)
    assert not np.isfinite(dirty[1])
    assert dirty[[0, 2]].tobytes() == clean[[0, 2]].tobytes()


def test_a_pair_loss_needs_both_kinds_of_pairs():
    rows = np.zeros((4, 3, 1))
    targets = np.array([[1.0, 1.0, 2.0], [1.0, 1.0, 1.0], [1.0, 2.0, 3.0], [2.0, 1.0, 2.0]])
    assert MetricRisk().usable(rows, targets).tolist() == [True, False, False, True]
    assert RankingRisk().usable(rows, targets).tolist() == [True, False, True, True]


def test_equal_rows_are_no_division_by_zero():
    rows, targets = np.ones((1, 4, 2)), np.array([[0.0, 0.0, 1.0, 1.0]])
    risk = MetricRisk()
    assert np.isfinite(risk.losses(np.eye(2).ravel(), rows, targets)).all()
    assert risk.gradient(np.eye(2).ravel(), rows[0], targets[0]).tolist() == [0.0] * 4


def test_a_gradient_of_a_wrong_shape_is_refused():
    risk = UserRisk(lambda p, x, y: (0.0, np.zeros(2)), 3)
    with pytest.raises(ValueError, match=r"must have shape \(3,\), not \(2,\)"):
        risk.gradient(W, np.zeros((2, 3)), np.zeros(2))
