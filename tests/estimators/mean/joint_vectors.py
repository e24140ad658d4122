"""Vectors and ways to take their means, for the tests of mean vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

JOINT = pytest.mark.parametrize("joint", ["geometric", "coordinatewise"])
LAYOUTS: dict[str, dict[str, Any]] = {
    "random": {"n_blocks": 9},
    "stored": {"n_blocks": 9, "order": "stored"},
    "block size": {"block_size": 60},
    "files": {"n_blocks": 3, "block_by": "file"},
    "samples": {"scheme": "swor", "n_blocks": 8, "block_size": 70},
}


def cloud(n: int = 6_000, d: int = 3, seed: int = 0) -> np.ndarray:
    g = np.random.default_rng(seed)
    return g.standard_t(4, (n, d)) * np.arange(1.0, d + 1.0) + np.arange(d)
