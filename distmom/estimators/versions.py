"""Versions that a result depends on."""

from __future__ import annotations

import platform
from functools import lru_cache

from distmom.numerics.random.philox import DRAW_VERSION
from distmom.version import VERSION


@lru_cache(maxsize=1)
def _fixed() -> tuple[tuple[str, str | int], ...]:
    import numpy
    import pyarrow

    return (
        ("distmom", VERSION),
        ("draws", DRAW_VERSION),
        ("numpy", numpy.__version__),
        ("pyarrow", pyarrow.__version__),
        ("python", platform.python_version()),
    )


def versions() -> dict[str, str | int]:
    """Versions of this package, of its random draws, and of the libraries that touch the numbers."""
    return dict(_fixed())
