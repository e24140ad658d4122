"""exp and softplus of our own: accurate, and the same bits in both engines."""

import math

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distmom.numerics.kernels.exponential import exp_of_negative, softplus
from distmom.numerics.losses import table_compiled  # noqa: F401  # compiled code may call both


@numba.njit
def compiled_exp(t, out):
    for i in range(t.size):
        out[i] = exp_of_negative(t[i])


@numba.njit
def compiled_softplus(z, out):
    for i in range(z.size):
        out[i] = softplus(z[i])


def test_exp_is_accurate_and_the_same_in_both_engines():
    t = np.concatenate(
        [-np.linspace(0, 708, 200_001), -np.geomspace(1e-300, 1, 1000), [-1e9, -np.inf, np.nan]]
    )
    found, out = exp_of_negative(t), np.empty_like(t)
    compiled_exp(t, out)
    assert np.array_equal(found, out)
    exact = np.exp(t[:-3].astype(np.longdouble))
    assert np.max(np.abs(found[:-3] - exact) / exact) < 1.5 * 2.0**-52
    assert found[0] == 1.0 and (found[-3:] < 1e-307).all()


@given(st.floats(-800, 800))
@pytest.mark.slow
def test_softplus_is_accurate_and_the_same_in_both_engines(z):
    out = np.empty(1)
    compiled_softplus(np.array([z]), out)
    found = softplus(np.array([z]))
    assert found[0] == out[0]
    exact = z if z > 700 else math.log1p(math.exp(z))
    assert abs(found[0] - exact) <= 4 * 2.0**-52 * exact + 1e-307
