"""Arbitrary rows in two samples: they add up, as blocks are paired by their numbers."""

from __future__ import annotations

import numpy as np
import pytest

import distmom as dm
from distmom.theory import best_blocks, width_factor


@pytest.mark.parametrize("kernel", ["auc", "mean-difference", "energy"])
def test_arbitrary_rows_of_both_samples_are_allowed_for(kernel: str) -> None:
    """Three wild rows here and two there: the interval for five holds, the plain mean fails."""
    g = np.random.default_rng(0)
    x, y = g.normal(size=9_000), g.normal(size=6_000) + 0.5
    right = dm.ustatistic([x, y], kernel=kernel, n_blocks=9, rng=1)
    x[:3], y[:2] = 1e9, -1e9
    found = dm.ustatistic([x, y], kernel=kernel, contamination=5, interval="exact", rng=0)
    assert found.n_blocks == best_blocks(6_000, 0.01, 5)
    assert found.interval[0] < right.estimate < found.interval[1]
    if kernel == "mean-difference":
        assert abs(found.plain_estimate) > 1e5  # the negative control
        half = (found.interval[1] - found.interval[0]) / 2
        k = found.n_blocks
        wanted = np.sqrt(k / 9_000 + k / 6_000) * width_factor(k, 0.01, 5)
        assert half == pytest.approx(wanted, rel=0.15)  # variances of blocks of 153 rows


def test_a_share_of_two_samples_is_refused() -> None:
    x = np.arange(100.0)
    with pytest.raises(dm.ConfigError, match=r"contamination: must be a number of rows .* together"):
        dm.ustatistic([x, x], kernel="auc", contamination=0.01)
    with pytest.raises(dm.ConfigError, match="outvote"):
        dm.ustatistic([x, x], kernel="auc", contamination=5, n_blocks=9)
