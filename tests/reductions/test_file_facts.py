"""Facts of files against plain loops, and their merging in any cut."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reduction_twin import File, make_files
from small_leaves import patch_leaves

from distmom.numerics.tree import DyadicTree
from distmom.reductions.accumulate.leaves import Rows
from distmom.reductions.block_means import BlockMeans
from distmom.reductions.file_facts import FileFacts
from distmom.reductions.layouts import RandomLayout
from distmom.reductions.profile import Profile, ProfileState

SEED = 5


def spec(compiled: bool = False) -> Profile:
    return Profile(BlockMeans(("a", "b"), RandomLayout(SEED, 15), 9, SEED, 16, compiled=compiled), 1, 64)


def run(files: list[File], profile: Profile, numbers: np.ndarray, batch: int = 1_000) -> ProfileState | None:
    """The state of some files as one unit of work; the second column is also only looked at for nulls."""
    accumulator = profile.begin(len(files), numbers)
    for number, file in enumerate(files):
        accumulator.start_file(number, file.path)
        for start in range(0, file.n_rows, batch):
            rows = Rows(0, file.n_rows, file.values, file.valid, file.keep, None).part(start, start + batch)
            rows = replace(rows, n_rows=min(batch, file.n_rows - start))
            accumulator.add(replace(rows, valid=(*rows.valid, rows.valid[1])), 1)
        accumulator.end_file()
    return accumulator.result([()])


def facts_of(files: list[File], numbers: np.ndarray) -> list[dict[str, object]]:
    """The slow twin: row by row."""
    found = []
    for n in np.unique(numbers):
        mine = [f for f, m in zip(files, numbers, strict=True) if m == n]
        keep = np.concatenate([f.keep for f in mine])
        one: dict[str, object] = {"n_rows": int(keep.sum())}
        for c in range(2):
            x = np.concatenate([f.values[c] for f in mine])[keep]
            valid = np.concatenate([f.valid[c] for f in mine])[keep]
            used = x[valid & ~np.isnan(x)]
            one[f"counts{c}"] = [(~valid).sum(), np.isnan(x[valid]).sum(), np.isinf(x[valid]).sum()]
            one[f"used{c}"] = used
            one[f"ends{c}"] = (used.min(initial=np.inf), used.max(initial=-np.inf))
        one["absent"] = one["counts1"][0]  # type: ignore[index]
        found.append(one)
    return found


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("folders", [False, True])
def test_facts_against_row_by_row(compiled: bool, folders: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    patch_leaves(monkeypatch)
    files = make_files([0, 3, 200, 11, 64, 130, 1, 15], columns=2)
    numbers = np.array([0, 0, 1, 1, 1, 2, 2, 3]) if folders else np.arange(8)
    state = run(files, spec(compiled), numbers, batch=50)
    assert state is not None
    twin = facts_of(files, numbers)
    assert state.facts.number.tolist() == sorted(set(numbers.tolist()))
    for i, one in enumerate(twin):
        assert state.facts.n_rows[i] == one["n_rows"] and state.facts.absent[0, i] == one["absent"]
        for c in range(2):
            used = one[f"used{c}"]
            assert isinstance(used, np.ndarray)
            assert state.facts.counts[c, i].tolist() == [int(n) for n in one[f"counts{c}"]]  # type: ignore[attr-defined]
            assert (state.facts.low[c, i], state.facts.high[c, i]) == one[f"ends{c}"]
            assert state.facts.moments.count[c, i] == used.size
            if used.size and np.isfinite(used).all():
                assert state.facts.moments.mean[c, i] == pytest.approx(used.mean(), rel=1e-12)
                assert state.facts.moments.m2[c, i] == pytest.approx(used.var() * used.size, rel=1e-9)


@given(cuts=st.sets(st.integers(1, 12), max_size=5), folders=st.booleans())
def test_any_cut_into_aligned_units_gives_the_same_bits(cuts: set[int], folders: bool) -> None:
    files = make_files([9, 0, 30, 4, 4, 17, 20, 1, 2, 40, 8, 3, 12], columns=2, seed=3)
    numbers = np.arange(13) // 3 if folders else np.arange(13)
    profile = spec()
    whole = run(files, profile, numbers)
    tree: DyadicTree[ProfileState] = DyadicTree(16, profile.merge)
    start = 0
    for stop in [*sorted(cuts), 13]:
        while start < stop:  # the largest aligned node that begins here and fits
            level = max(v for v in range(5) if start % (1 << v) == 0 and start + (1 << v) <= stop)
            part = slice(start, start + (1 << level))
            tree.push(level, start >> level, run(files[part], profile, numbers[part], batch=5))
            start += 1 << level
    for empty in range(13, 16):
        tree.push(0, empty, None)
    root = tree.root
    assert whole is not None and root is not None
    filled = root.facts.take(np.flatnonzero(root.facts.n_rows))
    right = whole.facts.take(np.flatnonzero(whole.facts.n_rows))
    for (a, _), (b, _) in zip(filled._parts(), right._parts(), strict=True):
        assert a.tobytes() == b.tobytes()
    for left, other in zip(root.samples, whole.samples, strict=True):
        assert left.values.tobytes() == other.values.tobytes()


def test_the_large_sample_holds_the_rows_with_the_smallest_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    patch_leaves(monkeypatch)
    files = make_files([200, 30, 500, 7], columns=2, dirty=False)
    state = run(files, spec(), np.arange(4))
    assert state is not None
    rows = np.concatenate([f.values[0] for f in files])
    keys, values = state.samples[0]
    assert values.shape == (1, 64) and np.isin(values[0], rows).all() and np.unique(values).size == 64
    assert (np.diff(keys[0]) > 0).all()


def test_files_taken_together_by_places() -> None:
    files = make_files([5, 9, 20, 4], columns=2, seed=1)
    state = run(files, spec(), np.arange(4))
    assert state is not None
    both = state.facts.over(np.array([1, 0, 1, 0]), 2)
    right: FileFacts = state.facts
    assert both.n_rows.tolist() == [right.n_rows[[1, 3]].sum(), right.n_rows[[0, 2]].sum()]
    assert both.low[0, 1] == right.low[0, [0, 2]].min() and both.high[1, 0] == right.high[1, [1, 3]].max()
    assert both.moments.count[0].tolist() == [
        right.moments.count[0, [1, 3]].sum(),
        right.moments.count[0, [0, 2]].sum(),
    ]
