"""Digits and alignment of numbers on a terminal."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import distmom as dm
from distmom.report.digits import fixed_span, in_digits, three
from distmom.report.text import aligned


@given(st.lists(st.decimals(-(10**6), 10**6, places=3).map(lambda d: f"{float(d):,.{abs(hash(d)) % 4}f}")))
def test_points_stand_below_each_other_once_a_column_is_set_to_the_right(cells: list[str]) -> None:
    shown = aligned(cells)
    assert [cell.strip() for cell in shown] == cells
    width = max(map(len, shown), default=0)
    points = {
        len(f"{cell:>{width}}".rstrip()) - len(c.partition(".")[2])
        for cell, c in zip(shown, cells, strict=True)
        if "." in c
    }
    assert len(points) <= 1


def test_intervals_are_aligned_by_both_ends_and_other_cells_left() -> None:
    assert aligned(["-4.1 … 3.62", "-", "11 … 12"]) == ["-4.1 …  3.62", "-", "11   … 12   "]
    assert aligned(["1.5", "2e+12", "-", "10"]) == ["1.5", "2e+12", "-", "10  "]
    assert aligned([]) == []


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e5))
def test_as_many_digits_as_the_interval_supports(middle: float, half: float) -> None:
    low, high = middle - half, middle + half
    decimals = in_digits(low, high)
    assert decimals is not None
    step = 10.0**-decimals
    real = 0.5 * (high - low)
    assert step <= real / 10.0 * (1 + 1e-9) and real <= 100.0 * step * (1 + 1e-9)
    shown = three(middle, (low, high), middle)[0].replace(",", "")
    assert math.isclose(float(shown), middle, abs_tol=max(step, 1.0))


def test_an_end_keeps_its_sign() -> None:
    assert fixed_span((-22.9, -0.42), 0) == "-23 … -0.4"
    assert fixed_span((0.0, 0.04), 1) == "0.0 … 0.04"


def test_the_table_has_the_digits_of_the_interval() -> None:
    x = np.random.default_rng(0).exponential(size=10_000)
    found = dm.mean({"x": 1e4 + 100.0 * x}, "x", rng=0)
    line = str(found).splitlines()[2]
    assert line.split()[1] == f"{found.estimate:,.1f}"
    assert line.split()[2:5] == [f"{found.interval[0]:,.1f}", "…", f"{found.interval[1]:,.1f}"]
