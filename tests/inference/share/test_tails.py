"""Binomial tails and quantiles are those of scipy.stats, which the program itself never loads."""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

import distmom
from distmom.inference.share.tails import at_most, more_than, quantile


@pytest.mark.parametrize("m", [1, 2, 7, 100, 4096, 65_536])
def test_they_are_those_of_scipy(m: int) -> None:
    for p in (0.0, 1e-4, 0.01, 0.25, 0.5, 0.9, 0.9999, 1.0):
        for k in {0, m // 100, m // 4, m // 2, m - 1}:
            assert at_most(k, m, p) == pytest.approx(binom.cdf(k, m, p), rel=1e-9, abs=1e-300)
            assert more_than(k, m, p) == pytest.approx(binom.sf(k, m, p), rel=1e-9, abs=1e-300)
        for level in (1e-6, 0.005, 0.3, 0.5, 0.995, 1 - 1e-6):
            assert quantile(level, m, p) == binom.ppf(level, m, p)


def test_the_quantile_is_the_least_that_holds() -> None:
    """The negative control: one less would not."""
    for p in np.linspace(0.05, 0.95, 19):
        k = quantile(0.99, 500, p)
        assert at_most(k, 500, p) >= 0.99 > at_most(k - 1, 500, p)


def test_nothing_imports_scipy_stats() -> None:
    """It takes a third of a second to load."""
    files = list(Path(distmom.__file__).parent.rglob("*.py"))
    assert len(files) > 200
    loads = re.compile(r"^\s*(from|import) scipy(\.stats| import stats)", re.M)
    assert not [file.name for file in files if loads.search(file.read_text("utf-8"))]
