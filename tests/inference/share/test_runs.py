"""Runs of equal values in a sorted sample."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from distmom.inference.share.runs import REPEATED, TOP, Runs


@given(st.lists(st.integers(0, 12), max_size=60))
def test_runs_are_those_of_a_counter(x):
    y = np.sort(np.array(x, float))
    runs, counts = Runs.of(y), Counter(y.tolist())
    assert dict(zip(y[runs.start].tolist(), runs.count.tolist(), strict=True)) == counts
    often = sorted((-k, v) for v, k in counts.items() if k >= REPEATED)[:TOP]
    assert runs.repeated() == tuple((v, -k) for k, v in often)
    value, count = runs.mode(0, y.size)
    assert count == max(counts.values(), default=0)
    if x:
        assert value == min(v for v, k in counts.items() if k == count)
