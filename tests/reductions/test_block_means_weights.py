"""Weighted block means against a twin that goes row by row: states, counts, refusals, any cutting of work."""

from __future__ import annotations

import itertools
import math
import pickle
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from reduction_twin import (
    File,
    make_files,
    reduce_all,
    reduce_in_parts,
    reduce_in_units,
    reduce_unit,
    same_state,
    twin,
)
from small_leaves import LEAF, patch_leaves

from distmom.errors import DataError
from distmom.numerics.blocks.labels import file_cell, file_key
from distmom.reductions.accumulate import small_files
from distmom.reductions.accumulate.rowwise import LEAVES_TOGETHER
from distmom.reductions.block_means import BlockMeans
from distmom.reductions.layout import Layout
from distmom.reductions.layouts import FileLayout, RandomLayout, StoredLayout, UnitLayout
from distmom.reductions.state import MeanState

SEED = 12345
SIZES = (150, 0, 1, 400, 64, 63, 65)
TOTAL = sum(SIZES)
LAYOUTS: dict[str, Layout] = {
    "random": RandomLayout(SEED, 15),
    "random, neighbours kept together": RandomLayout(SEED, 15, 3),
    "chunks": RandomLayout(SEED, 15, chunk_rows=5),
    "chunks, neighbours kept together": RandomLayout(SEED, 15, 3, chunk_rows=5),
    "stored": StoredLayout(TOTAL, 15),
    "units": UnitLayout(15),
    "files only": FileLayout(),
}
CASES = [
    pytest.param(layout, groups, id=f"{name}, {'grouped' if groups else 'ungrouped'}")
    for name, layout in LAYOUTS.items()
    for groups in (0, 4)
    if groups or not (isinstance(layout, RandomLayout) and layout.width > 1)
]


@pytest.fixture(autouse=True)
def leaves_of_64_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    patch_leaves(monkeypatch)


def spec_of(layout: Layout, **changes: Any) -> BlockMeans:
    return replace(BlockMeans(("x", "y"), layout, 9, SEED, 40, weights="w"), **changes)


def weighted_files(sizes: tuple[int, ...], groups: int, dirty: bool = True) -> list[File]:
    """Two columns of values, and weights as the third: some null, NaN or zero where `dirty`."""
    files = []
    for number, file in enumerate(make_files(sizes, columns=2, groups=groups, dirty=dirty)):
        g = np.random.default_rng([7, number])
        w = g.lognormal(0.0, 1.0, file.n_rows)
        valid = np.ones(file.n_rows, bool)
        if dirty:
            w[g.random(w.size) < 0.1] = np.nan
            w[g.random(w.size) < 0.2] = 0.0
            valid = g.random(w.size) > 0.1
            w[~file.keep] = -1.0  # a filter may drop what is not allowed
        files.append(replace(file, values=(*file.values, w), valid=(*file.valid, valid)))
    return files


def reweighted(files: list[File]) -> list[File]:
    """The same with the rows of no positive weight filtered out, and without the weights."""
    out = []
    for file in files:
        w, valid = file.values[-1], file.valid[-1]
        counts = file.keep & valid & (w > 0.0)
        out.append(replace(file, keep=counts, values=file.values[:-1], valid=file.valid[:-1]))
    return out


def expected_cells(spec: BlockMeans, files: list[File]) -> dict[Any, list[tuple[float, float]]]:
    """(value, weight) of the rows of each (column, group, place), found by the unweighted twin."""
    bare = replace(spec, weights=None, nan="keep")
    kept = reweighted(files)
    cells: dict[Any, list[tuple[float, float]]] = defaultdict(list)
    # the row's number takes the place of its value: so the unweighted twin says where each row goes
    numbered, first = [], 0
    for file in kept:
        numbers = np.arange(first, first + file.n_rows, dtype=np.float64)
        numbered.append(replace(file, values=(numbers, numbers)))
        first += file.n_rows
    w = np.concatenate([f.values[-1] for f in files])
    for (c, group, place), rows in twin(bare, numbered).rows.items():
        x = np.concatenate([f.values[c] for f in files])
        for row in np.array(rows, np.int64).tolist():
            if spec.nan == "keep" or not math.isnan(x[row]):
                cells[c, group, place].append((float(x[row]), float(w[row])))
    return cells


def compare(spec: BlockMeans, state: MeanState, files: list[File]) -> None:
    cells = expected_cells(spec, files)
    met = sorted(
        twin(
            replace(spec, weights=None), [replace(f, values=f.values[:2], valid=f.valid[:2]) for f in files]
        ).n_rows
    )
    assert list(state.keys) == met
    for g, group in enumerate(state.keys):
        _compare_counts(spec, state, files, g, group)
        for c, place in itertools.product(range(2), range(state.moments.count.shape[-1])):
            _compare_cell(cells.get((c, group, place), []), *(a[c, g, place] for a in state.moments))


def _compare_counts(spec: BlockMeans, state: MeanState, files: list[File], g: int, group: Any) -> None:
    n_rows, missing, kinds = 0, [0, 0, 0], np.zeros((2, 3), int)
    for file in files:
        for row in np.flatnonzero(file.keep).tolist():
            if group != (() if file.keys is None else ((1, file.keys[row]),)):
                continue
            n_rows += 1
            w, there = file.values[-1][row], file.valid[-1][row]
            if not there or math.isnan(w) or w == 0.0:
                missing[0 if not there else 1 if math.isnan(w) else 2] += 1
                continue
            for c in range(2):
                x = file.values[c][row]
                if not file.valid[c][row]:
                    kinds[c, 0] += 1
                else:
                    kinds[c, 1] += math.isnan(x)
                    kinds[c, 2] += math.isinf(x)
    assert state.n_rows[g] == n_rows
    assert state.counts[:2, g].tolist() == kinds.tolist()
    assert state.counts[2, g].tolist() == missing


def _compare_cell(
    rows: list[tuple[float, float]],
    count: int,
    weight: float,
    mean: float,
    weight2: float,
    mean2: float,
    m2: float,
) -> None:
    assert count == len(rows)
    if not rows:
        assert (weight, mean, weight2, mean2, m2) == (0.0,) * 5
        return
    w = [Fraction(b) for _, b in rows]
    assert weight == pytest.approx(float(sum(w)), rel=1e-13)
    assert weight2 == pytest.approx(float(sum(b * b for b in w)), rel=1e-13)
    if not all(math.isfinite(a) for a, _ in rows):
        plain = sum(a for a, _ in rows)
        assert mean == plain or (math.isnan(mean) and math.isnan(plain))
        assert math.isnan(m2)
        return
    x = [Fraction(a) for a, _ in rows]
    right = sum(b * a for a, b in zip(x, w, strict=True)) / sum(w)
    right2 = sum(b * b * a for a, b in zip(x, w, strict=True)) / sum(b * b for b in w)
    squares = sum(b * b * (a - right2) ** 2 for a, b in zip(x, w, strict=True))
    assert mean == pytest.approx(float(right), rel=1e-12, abs=1e-12)
    assert mean2 == pytest.approx(float(right2), rel=1e-12, abs=1e-12)
    assert m2 == pytest.approx(float(squares), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("nan", ["omit", "keep"])
@pytest.mark.parametrize(("layout", "groups"), CASES)
@pytest.mark.one_in(3)
def test_state_is_that_of_the_row_by_row_twin(layout: Layout, groups: int, nan: str) -> None:
    spec = spec_of(layout, grouped=bool(groups), nan=nan)
    files = weighted_files(SIZES, groups)
    compare(spec, reduce_all(spec, files), files)


@pytest.mark.parametrize(("layout", "groups"), CASES)
@pytest.mark.one_in(3)
def test_clean_rows_too(layout: Layout, groups: int) -> None:
    spec = spec_of(layout, grouped=bool(groups))
    files = weighted_files(SIZES, groups, dirty=False)
    compare(spec, reduce_all(spec, files), files)


@pytest.mark.parametrize(("layout", "groups"), CASES)
@pytest.mark.parametrize("dirty", [False, True], ids=["clean", "dirty"])
@pytest.mark.one_in(5)
def test_any_cutting_and_either_engine_give_the_same_bits(layout: Layout, groups: int, dirty: bool) -> None:
    spec = spec_of(layout, grouped=bool(groups))
    files = weighted_files(SIZES, groups, dirty)
    whole = reduce_all(spec, files)
    for batch in (1, 61):
        assert same_state(whole, reduce_all(spec, files, batch)), batch
    assert same_state(whole, reduce_all(spec, files, itertools.cycle([1, 100, 3, 64, 17])))
    for level in (0, 2):
        assert same_state(whole, reduce_in_units(spec, files, level)), level
    assert same_state(whole, reduce_all(replace(spec, compiled=True), files))


@pytest.mark.parametrize(("layout", "groups"), CASES)
@pytest.mark.one_in(3)
def test_parts_of_a_file_give_the_same_bits(layout: Layout, groups: int) -> None:
    sizes = (300, 20, 1200)
    if isinstance(layout, StoredLayout):
        layout = StoredLayout(sum(sizes), 15)
    spec = spec_of(layout, grouped=bool(groups))
    files = weighted_files(sizes, groups)
    whole = reduce_all(spec, files)
    leaf = LEAF * (LEAVES_TOGETHER if groups or isinstance(layout, UnitLayout) else 1)
    for level in (0, 1):
        assert same_state(whole, reduce_in_parts(spec, files, leaf, level)), level


@pytest.mark.parametrize("groups", [0, 4])
def test_rows_without_a_positive_weight_are_as_if_filtered(groups: int) -> None:
    """The samples too: they are of the rows that count."""
    layout = RandomLayout(SEED, 15)
    weighted = spec_of(layout, grouped=bool(groups))
    files = weighted_files(SIZES, groups)
    got = reduce_all(weighted, files)
    bare = reduce_all(replace(weighted, weights=None), reweighted(files))
    same = [got.keys.index(key) for key in bare.keys]
    assert np.array_equal(got.moments.count[:, same], bare.moments.count)
    assert np.array_equal(got.counts[:2, same], bare.counts)
    for a, b in zip(got.samples, bare.samples, strict=True):
        assert np.array_equal(a.keys[same], b.keys) and np.array_equal(
            a.values[same], b.values, equal_nan=True
        )


@pytest.mark.parametrize("groups", [0, 4])
def test_equal_weights_and_powers_of_two_change_no_bit(groups: int) -> None:
    spec = spec_of(RandomLayout(SEED, 15), grouped=bool(groups))
    files = weighted_files(SIZES, groups)
    bare = reduce_all(
        replace(spec, weights=None), [replace(f, values=f.values[:2], valid=f.valid[:2]) for f in files]
    )
    ones = [
        replace(
            f, values=(*f.values[:2], np.full(f.n_rows, 4.0)), valid=(*f.valid[:2], np.ones(f.n_rows, bool))
        )
        for f in files
    ]
    got = reduce_all(spec, ones)
    assert np.array_equal(got.moments.mean, bare.moments.mean, equal_nan=True)
    assert np.array_equal(got.moments.count, bare.moments.count)
    scaled = [replace(f, values=(*f.values[:2], f.values[2] * 2.0**-70)) for f in files]
    one, other = reduce_all(spec, files).moments, reduce_all(spec, scaled).moments
    assert np.array_equal(one.mean, other.mean, equal_nan=True)
    assert np.array_equal(one.effective, other.effective)
    assert np.array_equal(one.row_variance, other.row_variance, equal_nan=True)


def test_small_files_are_taken_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those with rows of no weight; those with odd weights or values are taken one by one."""
    spec = spec_of(RandomLayout(SEED, 45), nan="keep", sample_size=50)
    files = weighted_files((45, 46, 45, 0, 3, 200, 44, 1, 1), 0, dirty=False)
    files[0].values[2][[3, 7]] = 0.0
    files[0].valid[2][9] = False
    files[2].values[2][5] = np.nan
    values = files[6].values[0].copy()
    values[7] = np.inf
    files[6] = replace(files[6], values=(values, *files[6].values[1:]))
    files[7].values[2][0] = 0.0
    whole = reduce_all(spec, files)
    compare(spec, whole, files)
    for level in (0, 1, 2):
        assert same_state(whole, reduce_in_units(spec, files, level)), level
    assert same_state(whole, reduce_all(replace(spec, compiled=True), files, 7))
    monkeypatch.setattr(small_files, "most_rows", lambda spec: 0)
    large = reduce_all(spec, files)  # as if all files were large: the same but for rounding
    assert not same_state(whole, large)
    for some, other in zip(whole.moments, large.moments, strict=True):
        np.testing.assert_allclose(some, other, rtol=1e-9, atol=1e-12)
    assert np.array_equal(whole.counts, large.counts)
    assert all(np.array_equal(a, b) for a, b in zip(whole.samples, large.samples, strict=True))


@pytest.mark.parametrize("weight", [-1.0, np.inf])
def test_a_refused_weight_of_a_small_file_is_named(weight: float) -> None:
    files = weighted_files((20, 30, 5), 0, dirty=False)
    files[1].values[2][11] = weight
    with pytest.raises(DataError, match=r"t/001\.parquet: weight 'w' is .* in row 11"):
        reduce_all(spec_of(RandomLayout(SEED, 45)), files)


def test_a_file_without_rows_of_weight_is_an_empty_cell() -> None:
    spec = spec_of(FileLayout(), n_cells=99)
    files = weighted_files((50, 60), 0, dirty=False)
    files[0] = replace(files[0], values=(*files[0].values[:2], np.zeros(50)))
    state = reduce_all(spec, files)
    cells = [file_cell(file_key(SEED, f.path), 99) for f in files]
    assert state.moments.count[0, 0, cells].tolist() == [0, 60]
    assert state.counts[2, 0].tolist() == [0, 0, 50]


@pytest.mark.parametrize("groups", [0, 2])
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (-2.5, ["t/001.parquet", "weight 'w' is -2.5 in row 77", "must not be negative", "where"]),
        (-np.inf, ["t/001.parquet", "weight 'w' is -inf in row 77", "must not be negative"]),
        (np.inf, ["t/001.parquet", "weight 'w' is inf in row 77", "finite", "clean the file"]),
        (1e61, ["t/001.parquet", "weight 'w' is 1e+61 in row 77", "1.6e+60", "divide"]),
    ],
)
def test_weights_that_are_none_are_refused(
    groups: int, compiled: bool, weight: float, words: list[str]
) -> None:
    spec = spec_of(RandomLayout(SEED, 15), grouped=bool(groups), compiled=compiled)
    files = weighted_files((50, 90), groups, dirty=False)
    files[1].values[2][[77, 80]] = weight
    for batch in (10**6, 13):
        with pytest.raises(DataError) as caught:
            reduce_unit(spec, files, batch=batch)
        text = str(caught.value)
        assert "\n" not in text and all(word in text for word in words), text


def test_tiny_weights_count_as_zero() -> None:
    files = weighted_files((50,), 0, dirty=False)
    files[0].values[2][:7] = 1e-61
    assert reduce_all(spec_of(FileLayout()), files).counts[2, 0].tolist() == [0, 0, 7]


def test_nan_weights_under_raise() -> None:
    files = weighted_files((50, 90), 0, dirty=False)
    files[1].values[2][33] = np.nan
    with pytest.raises(DataError, match=r"t/001\.parquet: column 'w' is NaN in row 33"):
        reduce_all(spec_of(RandomLayout(SEED, 15), nan="raise"), files)


def test_specs_travel_and_state_bytes_are_those_of_the_arrays() -> None:
    spec = spec_of(RandomLayout(SEED, 15), sample_size=0)
    state = reduce_all(pickle.loads(pickle.dumps(spec)), weighted_files(SIZES, 0))
    assert state.nbytes == spec.state_bytes() + 24  # the counts of the weights
    assert spec.state_bytes() > 1.9 * replace(spec, weights=None).state_bytes()
