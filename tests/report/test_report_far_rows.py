"""What is said of rows far out, and the conditions that leave them out."""

from __future__ import annotations

import math

import numpy as np
import pytest

from distmom.report.far_rows import MISSING, FarRows, missing_code


def test_usual_codes() -> None:
    assert all(missing_code(v) for v in MISSING)
    assert missing_code(float(np.float32(9.96921e36))) and missing_code(float(np.float32(1e20)))
    assert not any(missing_code(v) for v in (0.0, 1.0, 9.0, -98.0, 1e6, math.inf, math.nan))


def far_rows(values: tuple[tuple[float, float], ...], low: float, high: float, *, only: bool) -> FarRows:
    share = 0.01
    return FarRows("borne", None, share, (0.009, 0.011), 65_536, low, high, values, 20.0, only_values=only)


@pytest.mark.parametrize(
    ("column", "only", "want"),
    [
        ("x", True, "x != -9999 and x != -99.5"),
        ("x", False, "x > -50 and x < 1e+06"),
        ("two words", True, '"two words" != -9999 and "two words" != -99.5'),
        ("null", True, '"null" != -9999 and "null" != -99.5'),
    ],
)
def test_the_condition_keeps_the_others(column: str, only: bool, want: str) -> None:
    far = far_rows(((-9999.0, 0.006), (-99.5, 0.004)), -50.0, 1e6 if not only else math.inf, only=only)
    assert far.condition(column) == want
    [text] = far.words("99%", column)
    assert f"where={want!r}" in text
    assert "-9,999 in 0.6%, a usual code for missing" in text
    [timed] = far.words("99%", column, numbers=False)
    assert "where=" not in timed
