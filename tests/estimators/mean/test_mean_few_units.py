"""Few units of many rows: the number of blocks follows the units."""

from __future__ import annotations

import numpy as np
import pytest

import distmom as dm


def sensors(seed: int, n_units: int, n_rows: int = 500) -> dict[str, np.ndarray]:
    """Skew effects of units beside small noise: rows of a unit are nearly equal."""
    g = np.random.default_rng(seed)
    unit = np.repeat(np.arange(n_units), n_rows)
    return {"x": g.lognormal(size=n_units)[unit] + 0.1 * g.normal(size=unit.size), "u": unit}


@pytest.mark.parametrize(("n_units", "n_blocks"), [(12, 9), (100, 9), (400, 9), (2_000, 15)])
def test_the_number_of_blocks_follows_units_not_rows(n_units: int, n_blocks: int) -> None:
    found = dm.mean(sensors(0, n_units, 60), "x", rng=0, blocks=dm.UnitBlocks("u"))
    assert found.n_units == n_units
    assert n_blocks - 2 <= found.n_blocks <= n_blocks  # a few units leave a block empty now and then


@pytest.mark.slow
def test_clean_skew_units_are_not_called_contaminated_and_covered() -> None:
    """Blocks of single units, as by the number of rows, would estimate the median of units: 1, not 1.65."""
    flags = covered = 0
    for seed in range(60):
        found = dm.mean(
            sensors(seed, 150, 200), "x", rng=seed, confidence_level=0.95, blocks=dm.UnitBlocks("u")
        )
        flags += found.status != "ok"
        covered += found.interval[0] <= np.exp(0.5) <= found.interval[1]
    assert flags <= 2
    assert covered >= 49  # P(Bin(60, 0.95) < 49) = 5e-4
