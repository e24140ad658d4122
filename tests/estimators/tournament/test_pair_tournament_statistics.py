"""Pairwise tournaments find the right metric on contaminated rows, where the least plain risk does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import distmom as dm

SEEDS, N, BAD = 100, 2_000, 10
TRUE = np.array([[0.9, 0.1], [0.1, 0.05]])


def matrices() -> dict[str, np.ndarray]:
    """The right one, turned, stretched, without what is outlying in the bad rows, and two plain ones."""

    def turned(t: float) -> np.ndarray:
        r = np.array([[np.cos(t), -np.sin(t)], [np.sin(t), np.cos(t)]])
        made = r @ TRUE @ r.T
        return (made + made.T) / 2

    found = {"true": TRUE, "left": turned(0.4), "right": turned(-0.4)}
    found |= {f"times {c}": c * TRUE for c in (0.0, 0.5, 2.0)}
    return {**found, "first": np.diag([0.9, 0.0]), "equal": 0.9 * np.eye(2), "swapped": TRUE[::-1, ::-1]}


def rows(seed: int, n: int, n_bad: int) -> dict[str, np.ndarray]:
    """Two classes, and bad rows whose second feature is a hundred times too wide."""
    g = np.random.default_rng(seed)
    label = g.integers(0, 2, n)
    x = g.normal(size=(n, 2)) * [0.5, 1.5] + 2.0 * label[:, None]
    x[g.choice(n, n_bad, replace=False)] = g.normal(size=(n_bad, 2)) * [1.0, 100.0]
    return {"label": label.astype(float), "a": x[:, 0], "b": x[:, 1]}


def play(seed: int, n: int, n_bad: int, **options: Any) -> dm.TournamentResult:
    how = {"loss": "mahalanobis", "features": ["a", "b"], "executor": dm.Threads(1), "rng": seed, **options}
    return dm.tournament(rows(seed, n, n_bad), matrices(), "label", **how)


def test_the_right_metric_has_the_least_risk() -> None:
    # the premise, on 40,000 clean rows: measured 0.240 for it and 0.308 for the next one
    found = play(0, 40_000, 0, blocks=dm.SampledBlocks(51, 150))
    risks = {line.name: line.plain_estimate for line in found}
    assert min(risks, key=risks.__getitem__) == "true"
    assert sorted(risks.values())[1] > risks["true"] + 0.03


@pytest.mark.slow
def test_the_true_metric_is_a_champion_on_contaminated_rows() -> None:
    # Half a percent of the rows is outlying. It failed in none of the seeds 1,000 to 1,399: if it fails in at
    # most one of 100, more than five failures in 100 seeds have the probability P(Bin(100, 0.01) > 5) = 5e-4.
    champions, plain = 0, 0
    for seed in range(SEEDS):
        found = play(seed, N, BAD, contamination=BAD)
        champions += "true" in found.champions
        plain += min(found, key=lambda line: line.plain_estimate).name == "true"
    assert champions >= 0.95 * SEEDS
    assert plain <= 0.05 * SEEDS  # the negative control: the least plain risk is another matrix's
