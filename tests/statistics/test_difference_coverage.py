"""Coverage of differences and lifts of heavy-tailed metrics, clean and with corrupted units."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import distmom as dm

LEVEL, REPLICATIONS, N_UNITS, FAILURE = 0.95, 200, 2_000, 1e-3
LEAST = int(binom.ppf(FAILURE, REPLICATIONS, LEVEL))
"""An interval that covers with the asked probability covers less often in one of a thousand such tests."""


def experiment(g: np.random.Generator, bad_units: int) -> dict[str, Any]:
    """Log-normal spending, 1 to 9 rows a user whose level they share; the new arm spends a tenth more."""
    rows = g.integers(1, 10, N_UNITS)
    user = np.repeat(np.arange(N_UNITS), rows)
    new = user % 2 == 1
    level = g.lognormal(0.0, 0.7, N_UNITS)[user]
    spent = level * g.lognormal(0.0, 0.8, user.size) * np.where(new, 1.1, 1.0)
    spent[new & (user < 2 * bad_units)] *= 1e5
    return {"user": user, "arm": np.where(new, "new", "old"), "spent": spent}


MEAN = float(np.exp(0.7**2 / 2 + 0.8**2 / 2))


def welch(data: dict[str, Any], cap: bool) -> bool:
    """Whether the usual interval covers: rows of users summed, the delta method, capped at 99% or not."""
    spent = np.minimum(data["spent"], np.quantile(data["spent"], 0.99)) if cap else data["spent"]
    means, variances = [], []
    for arm in ("old", "new"):
        mine = data["arm"] == arm
        _, unit = np.unique(data["user"][mine], return_inverse=True)
        total, n = np.bincount(unit, spent[mine]), np.bincount(unit)
        mean = total.sum() / n.sum()
        means.append(mean)
        variances.append(np.var(total - mean * n) / n.mean() ** 2 / n.size)
    reach = 1.96 * np.sqrt(sum(variances))
    return bool(abs(means[1] - means[0] - 0.1 * MEAN) <= reach)


@pytest.mark.slow
@pytest.mark.parametrize("bad_units", [0, 10])
def test_differences_and_lifts_are_covered(bad_units: int) -> None:
    """Negative control: capped and sample means where ten of 1,000 users of the new arm are corrupted."""
    covered = {"difference": 0, "lift": 0, "plain": 0, "capped": 0}
    lifts = 0
    for seed in range(REPLICATIONS):
        data = experiment(np.random.default_rng(seed), bad_units)
        found = dm.difference(
            data, "spent", by="arm", unit="user", control="old", confidence_level=LEVEL, rng=seed
        )
        assert found.interval is not None
        covered["difference"] += found.interval[0] <= 0.1 * MEAN <= found.interval[1]
        if found.lift_interval is not None:
            lifts += 1
            covered["lift"] += found.lift_interval[0] <= 0.1 <= found.lift_interval[1]
        covered["plain"] += welch(data, cap=False)
        covered["capped"] += welch(data, cap=True)
    assert covered["difference"] >= LEAST
    assert lifts > 0.9 * REPLICATIONS and covered["lift"] >= LEAST - (REPLICATIONS - lifts)
    if bad_units:
        assert max(covered["capped"], covered["plain"]) < LEAST
