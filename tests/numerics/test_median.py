"""The lower median: rank ceil(K/2), NaN dropped, infinities sorted."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from distmom.numerics.median import lower_median


@given(st.lists(st.one_of(st.floats(allow_nan=True), st.sampled_from([1.0, np.inf, -np.inf, np.nan]))))
def test_rank_of_the_lower_median(values):
    left = sorted(v for v in values if not math.isnan(v))
    got = float(lower_median(np.array(values, float)))
    assert math.isnan(got) if not left else got == left[math.ceil(len(left) / 2) - 1]


def test_a_minority_of_infinite_blocks_does_not_spread():
    assert lower_median(np.array([4.0, 5.0, np.inf])) == 5.0
    assert lower_median(np.array([1.0, 2.0, np.inf, np.inf])) == 2.0


def test_along_an_axis():
    x = np.array([[3.0, 1.0], [np.nan, 5.0], [2.0, 4.0]])
    assert lower_median(x, axis=0).tolist() == [2.0, 4.0]
    assert lower_median(x).tolist() == [1.0, 5.0, 2.0]
