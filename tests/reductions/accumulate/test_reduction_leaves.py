"""Cutting batches into leaves, what counts in them, and counting rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reduction_twin import make_files
from small_leaves import LEAF, patch_leaves

from distmom.reductions.accumulate.leaves import LeafCutter, Rows, missing_rows, strange_rows
from distmom.reductions.counting import RowCount


def rows_from(first: int, n: int) -> Rows:
    x = np.arange(first, first + n, dtype=np.float64)
    return Rows(first, n, (x,), (None,), None, None)


@given(st.lists(st.integers(1, 3 * LEAF), min_size=1, max_size=8))
def test_leaves_are_cut_by_the_row_number_alone(sizes: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch_leaves(patch)
        cutter, leaves, first = LeafCutter(), [], 0
        for n in sizes:
            leaves += cutter.add(rows_from(first, n))
            first += n
        leaves += cutter.flush()
    assert [leaf.first_row for leaf in leaves] == list(range(0, first, LEAF))
    assert np.array_equal(np.concatenate([leaf.column(0) for leaf in leaves]), np.arange(first))


def test_a_whole_leaf_is_passed_on_without_a_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    patch_leaves(monkeypatch)
    rows = rows_from(0, 2 * LEAF)
    for leaf in LeafCutter().add(rows):
        assert np.shares_memory(leaf.values[0], rows.values[0])


def test_a_leaf_of_two_arrays_comes_in_two_pieces_without_a_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    patch_leaves(monkeypatch)
    valid = np.arange(LEAF) % 3 > 0
    cutter, first = LeafCutter(), Rows(0, 3, (np.arange(3.0),), (valid[:3],), None, np.arange(3))
    later = Rows(3, LEAF - 3, (np.arange(3.0, LEAF),), (valid[3:],), valid[3:], np.arange(3, LEAF))
    (leaf,) = [*cutter.add(first), *cutter.add(later)]
    one, two = leaf.pieces()
    assert (one.first_row, one.n_rows, two.first_row, two.n_rows) == (0, 3, 3, LEAF - 3)
    for piece, whole in ((one, first), (two, later)):
        assert np.shares_memory(piece.values[0], whole.values[0]) and not piece.rest
        assert np.array_equal(piece.values[0], whole.values[0])
        assert piece.valid[0] is not None and np.array_equal(piece.valid[0], whole.valid[0])
        assert piece.codes is not None and np.array_equal(piece.codes, whole.codes)
    assert one.keep is not None and one.keep.all() and two.keep is not None
    assert np.array_equal(two.keep, valid[3:])
    assert first.pieces() == [first]


def test_masks_and_codes_of_pieces_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    patch_leaves(monkeypatch)
    cutter = LeafCutter()
    valid = np.array([True, False])
    list(cutter.add(Rows(0, 2, (np.zeros(2),), (valid,), None, np.array([0, 1]))))
    list(cutter.add(Rows(2, 1, (np.ones(1),), (None,), np.array([False]), np.array([-1]))))
    (leaf,) = cutter.flush()
    assert leaf.valid[0] is not None and leaf.valid[0].tolist() == [True, False, True]
    assert leaf.keep is not None and leaf.keep.tolist() == [True, True, False]
    assert leaf.codes is not None and leaf.codes.tolist() == [0, 1, -1]


@given(
    st.lists(
        st.tuples(st.sampled_from([1.0, np.nan, np.inf, -np.inf]), st.booleans(), st.booleans()), max_size=20
    )
)
def test_what_counts_row_by_row(rows: list[tuple[float, bool, bool]]) -> None:
    x = np.array([r[0] for r in rows], np.float64)
    valid = np.array([r[1] for r in rows], bool)
    keep = np.array([r[2] for r in rows], bool)
    gone, nulls = missing_rows(valid, keep)
    nans, infs = strange_rows(x, gone)

    def marked(mask: np.ndarray | None) -> list[bool]:
        return [False] * len(rows) if mask is None else mask.tolist()

    null = [k and not v for _, v, k in rows]
    is_nan = [k and v and np.isnan(a) for a, v, k in rows]
    assert marked(nulls) == null
    assert marked(nans) == is_nan
    assert marked(infs) == [k and v and np.isinf(a) for a, v, k in rows]
    assert marked(gone) == [not k or not v for _, v, k in rows]


def test_rows_that_pass_the_filter_are_counted() -> None:
    files = make_files((50, 0, 30))
    spec = RowCount()
    right = int(sum(f.keep.sum() for f in files))
    for batch in (1, 7, 100):
        accumulator = spec.begin(len(files))
        for number, file in enumerate(files):
            accumulator.start_file(number, file.path)
            for start in range(0, file.n_rows, batch):
                keep = file.keep[start : start + batch]
                accumulator.add(Rows(start, keep.size, (), (), keep, None), 1)
            accumulator.end_file()
        assert accumulator.result([()]) == right
    assert spec.merge(3, 4) == 7
