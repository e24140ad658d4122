"""What any lake's mean must satisfy, whatever its rows and however they lie in files.

Labels depend on paths and row numbers, so another partitioning into files is another draw: block means
differ. What any partitioning has in common are the counts, the sample mean (up to rounding), one block's
mean, and contiguous blocks. For one partitioning, everything is the same bits whatever the order of listing
and the way the work is cut.
"""

from __future__ import annotations

import itertools
import math
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from flat import flat
from hypothesis import given
from hypothesis import strategies as st
from mean_lakes import cut_work, same, write

import distmom as dm

finite = st.floats(-1e6, 1e6, allow_subnormal=False)
value = st.one_of(finite, finite, finite, st.just(math.nan), st.none())
cuts = st.lists(st.integers(0, 120), max_size=5)
ways = st.sampled_from(
    [
        {},
        {"n_blocks": 5},
        {"order": "stored", "n_blocks": 3},
        {"scheme": "swor", "n_blocks": 4, "block_size": 1},
    ]
)


@contextmanager
def lake(values: list[Any], at: list[int]) -> Iterator[list[Path]]:
    """The values in files, cut at some rows."""
    edges = [0, *sorted(min(c, len(values)) for c in at), len(values)]
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for i, (low, high) in enumerate(itertools.pairwise(edges)):
            array = pa.array(values[low:high], pa.float64(), from_pandas=False)
            paths.append(write(Path(folder) / f"{i}.parquet", {"x": array}))
        yield paths


def answer(data: Any, **options: Any) -> dm.MeanResult | None:
    try:
        return flat(dm.mean)(data, "x", rng=1, threads=1, **options)
    except dm.NoAnswerError:
        return None


@given(st.lists(value, min_size=1, max_size=100), cuts, cuts)
def test_any_partitioning_has_the_same_counts_and_sample_mean(
    values: list[Any], one: list[int], other: list[int]
) -> None:
    with lake(values, one) as a, lake(values, other) as b:
        left, right = answer(a[0].parent), answer(b[0].parent)
        left_one, right_one = (answer(p[0].parent, n_blocks=1) for p in (a, b))
    used = [v for v in values if v is not None and not math.isnan(v)]
    assert (left is None) == (right is None) == (not used)
    if left is None or right is None or left_one is None or right_one is None:
        return
    for found in (left, right, left_one, right_one):
        assert (found.n_rows, found.n_used, found.n_inf) == (len(values), len(used), 0)
        assert found.n_null == sum(v is None for v in values)
        scale = max(map(abs, used))
        assert found.plain_estimate == pytest.approx(math.fsum(used) / len(used), abs=1e-13 * scale)
    assert left_one.estimate == pytest.approx(right_one.estimate, abs=1e-13 * scale)


@given(st.lists(finite, min_size=3, max_size=100), cuts, cuts, st.sampled_from([1, 3, 5]))
def test_contiguous_blocks_do_not_see_the_edges_of_files(
    values: list[float], one: list[int], other: list[int], n_blocks: int
) -> None:
    options = {"order": "stored", "n_blocks": n_blocks}
    with lake(values, one) as a, lake(values, other) as b:
        left, right = answer(a[0].parent, **options), answer(b[0].parent, **options)
    assert left is not None and right is not None
    assert left.block_size == right.block_size
    np.testing.assert_allclose(left.block_estimates, right.block_estimates, rtol=0, atol=1e-12 * 1e6)


@given(
    st.lists(value, min_size=1, max_size=100),
    cuts,
    ways,
    st.randoms(use_true_random=False),
    st.integers(1, 4),
)
def test_neither_the_order_of_listing_nor_the_units_matter(
    values: list[Any], at: list[int], options: dict[str, Any], shuffler: Any, max_files: int
) -> None:
    with lake(values, at) as paths, pytest.MonkeyPatch.context() as patch:
        right = answer(paths, **options)
        mixed = list(paths)
        shuffler.shuffle(mixed)
        cut_work(patch, max_files=max_files)
        found = answer(dm.scan(mixed, batch_rows=1 + max_files), **options)
    assert (right is None) == (found is None)
    assert right is None or found is None or same(right, found)


@given(st.lists(value, min_size=1, max_size=100), cuts, ways, st.integers(-30, 30))
def test_a_power_of_two_passes_through_exactly(
    values: list[Any], at: list[int], options: dict[str, Any], power: int
) -> None:
    factor = 2.0**power
    scaled = [None if v is None else v * factor for v in values]
    with lake(values, at) as a, lake(scaled, at) as b:
        left, right = answer(a[0].parent, **options), answer(b[0].parent, **options)
    assert (left is None) == (right is None)
    if left is None or right is None:
        return
    assert right.estimate == left.estimate * factor
    assert right.plain_estimate == left.plain_estimate * factor
    assert np.array_equal(right.block_estimates, left.block_estimates * factor)
    assert (right.status, right.block_size) == (left.status, left.block_size)


@given(st.lists(finite, min_size=1, max_size=100), cuts, ways, st.floats(-1e6, 1e6))
def test_shifting_the_rows_shifts_the_answer(
    values: list[float], at: list[int], options: dict[str, Any], shift: float
) -> None:
    with lake(values, at) as a, lake([v + shift for v in values], at) as b:
        left, right = answer(a[0].parent, **options), answer(b[0].parent, **options)
    assert left is not None and right is not None
    assert right.estimate == pytest.approx(left.estimate + shift, abs=1e-8)
    assert right.plain_estimate == pytest.approx(left.plain_estimate + shift, abs=1e-8)
    np.testing.assert_allclose(right.block_estimates, left.block_estimates + shift, rtol=0, atol=1e-8)


@given(st.lists(finite, min_size=1, max_size=100), cuts, ways)
def test_estimates_lie_within_the_values(values: list[float], at: list[int], options: dict[str, Any]) -> None:
    with lake(values, at) as paths:
        found = answer(paths[0].parent, **options)
    assert found is not None
    slack = 1e-12 * max(map(abs, values))
    assert min(values) - slack <= found.estimate <= max(values) + slack
    ordered = np.sort(found.block_estimates)
    if "swor" in options.values() or "n_blocks" in options:
        assert found.estimate == ordered[(ordered.size + 1) // 2 - 1], "the lower median of the block means"


@given(st.lists(st.tuples(value, st.sampled_from(["a", "b", None])), min_size=1, max_size=100), cuts, ways)
def test_groups_are_the_filtered_lake(
    rows: list[tuple[Any, Any]], at: list[int], options: dict[str, Any]
) -> None:
    """Counts and sample means of each group are those of its rows alone."""
    edges = [0, *sorted(min(c, len(rows)) for c in at), len(rows)]
    with tempfile.TemporaryDirectory() as folder:
        for i, (low, high) in enumerate(itertools.pairwise(edges)):
            x = pa.array([r[0] for r in rows[low:high]], pa.float64(), from_pandas=False)
            k = pa.array([r[1] for r in rows[low:high]], pa.string())
            write(Path(folder) / f"{i}.parquet", {"x": x, "k": k})
        try:
            found = flat(dm.mean)(folder, "x", by="k", rng=1, threads=1, **options)
        except dm.NoAnswerError:
            return  # no group has an answer
    assert [r.group["k"] for r in found] == sorted({k for _, k in rows}, key=lambda k: (k is not None, k))
    for r in found:
        mine = [v for v, k in rows if k == r.group["k"]]
        used = [v for v in mine if v is not None and not math.isnan(v)]
        assert (r.n_rows, r.n_used, r.n_null) == (len(mine), len(used), sum(v is None for v in mine))
        if used:
            assert r.plain_estimate == pytest.approx(
                math.fsum(used) / len(used), abs=1e-12 * max(map(abs, used))
            )
        else:
            assert math.isnan(r.plain_estimate)
