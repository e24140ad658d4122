"""Rows are kept for the blocks that the first pass counts them in."""

from __future__ import annotations

import numpy as np
import pytest

from distmom.numerics.blocks.labels import file_cell, file_key
from distmom.reductions.accumulate.leaves import Rows
from distmom.reductions.block_means import BlockMeans
from distmom.reductions.layout import Layout, Place
from distmom.reductions.layouts import FileLayout, RandomLayout, StoredLayout, UnitLayout, row_labels

SEED, N = 5, 700
LAYOUTS: dict[str, Layout] = {
    "random": RandomLayout(SEED, 45),
    "chunks": RandomLayout(SEED, 45, 1, 8),
    "wide": RandomLayout(SEED, 45, 9),
    "stored": StoredLayout(2 * N, 21),
    "units": UnitLayout(33),
    "files": FileLayout(),
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", LAYOUTS)
def test_labels_are_those_of_the_block_means(name: str, compiled: bool) -> None:
    layout = LAYOUTS[name]
    grouped = name in ("wide", "units")
    spec = BlockMeans(("x",), layout, 10, SEED, 0, grouped, compiled=compiled)
    windows, accumulator = np.array([N, 0]), spec.begin(2, np.array([N, 0]))
    counts = np.zeros(10 if name == "files" else layout.n_blocks, np.int64)
    units = np.random.default_rng(0).integers(0, 2**63, N).astype(np.uint64)
    for number, path in enumerate(("a", "b")):
        accumulator.start_file(number, path)
        x, codes = np.zeros(N), np.zeros(N, np.int64) if grouped else None
        accumulator.add(Rows(0, N, (x,), (None,), None, codes, units), 1)
        accumulator.end_file()
        for start, stop in ((0, 1), (1, 500), (500, N)):
            place = Place(file_key(SEED, path), start, number, units[start:stop])
            labels = row_labels(layout, 10, place, stop - start, windows)
            counts += np.bincount(labels, minlength=counts.size)
    state = accumulator.result([()])
    assert np.array_equal(state.moments.count[0, 0, : counts.size], counts)
    if name == "files":
        assert set(np.flatnonzero(counts)) == {file_cell(file_key(SEED, p), 10) for p in ("a", "b")}
