"""Compile all kernels into Numba's cache: ``python -m distmom.numerics``, once when an image is built.

With names of `PARTS` only those: two processes are done in half of the time.
"""

from __future__ import annotations

import sys

import numpy as np

from distmom.numerics.blocks.block_state import MANY_CELLS
from distmom.numerics.blocks.cells import Cells
from distmom.numerics.blocks.labels import file_key, label_table, stored_edges
from distmom.numerics.blocks.leaf import Weights, leaf_moments, with_total
from distmom.numerics.blocks.moments import Moments
from distmom.numerics.blocks.stored import stored_moments
from distmom.numerics.kernels.catalogue import distance, gini
from distmom.numerics.kernels.fading import fade
from distmom.numerics.kernels.risk import Clustering, MetricLoss, Ranking
from distmom.numerics.kernels.similarity import Gaussian, Laplace
from distmom.numerics.linalg.comoments import leaf_comoments
from distmom.numerics.losses.cell_sums import add_distances, add_losses, add_measures, add_to_cells
from distmom.numerics.losses.table import LOSSES
from distmom.numerics.pairs.regroup import CellRows
from distmom.numerics.pairs.tiles import tiled_sums
from distmom.numerics.random.keyed_hash import hash_messages, look_up_hashes
from distmom.numerics.random.philox import stream_key
from distmom.numerics.ranks.order import order_counts
from distmom.numerics.ranks.order_weights import order_masses
from distmom.numerics.samples.group_sample import GroupSampler
from distmom.numerics.samples.row_samples import RowSamples
from distmom.numerics.samples.sample import LeafSampler
from distmom.numerics.samples.sample_tree import SampleTree
from distmom.numerics.samples.sampled_leaf import sampled_leaf_moments


def compile_rows() -> None:
    """Call every kernel of rows without weights once with each kind of argument it meets."""
    n, key, table = 4_000, file_key(0, ""), label_table(0, 945)
    for writeable in (True, False):  # arrays from Arrow are read-only, which is a type of its own
        x, gone = np.arange(float(n)), np.arange(n) % 7 == 0
        codes = np.arange(n) % 3
        x.flags.writeable = writeable
        for mask in (None, gone):
            blocks = leaf_moments(x, mask, 0, key, table, compiled=True)
            stored = stored_moments(x, mask, 0, stored_edges(n, 5), compiled=True)
            sample = LeafSampler(64, compiled=True)
            sample.offer(key, 0, x, mask)
            cells, sampler = Cells(compiled=True), GroupSampler(64, compiled=True)
            cells.grow(3 * 105)
            cells.add(x, mask, codes)
            cells.add_blocks(x, mask, codes, 0, key, table, 9)
            cells.unload(3, 105, 105)
            sampler.offer(key, 0, codes, x, mask, 3)
            leaf_moments(x, mask, 0, key, table, chunk_rows=5, compiled=True)
            draws = stream_key(0, "swor")
            window = SampleTree([n, n]).window(0, 1)
            counts = window.counts(draws, 5, 100, compiled=True)
            window.counts(draws, 5, 100, replace=True, compiled=True)
            RowSamples(0, np.array([n]), 100, compiled=True).numbers(0, 2)
            for groups in (None, codes):
                size = 1 if groups is None else 3
                sampled_leaf_moments(x, mask, groups, size, draws, 0, counts[:, 0], compiled=True)
        first, w = codes.astype(np.int32), x + 1.0
        add_to_cells(x, first, np.zeros(3), compiled=True)
        add_distances(x[None], np.zeros((1, 2), np.int32), first, np.zeros((1, 3)), compiled=True)
    for loss in LOSSES.values():
        if loss.compiled and loss.of != "margin":
            add_losses(w, x, first, np.zeros(3), loss, (loss, 1.0))
            add_measures(w, x, first, codes, np.zeros(3), loss, (loss, 1.0))
    many = Moments.empty(MANY_CELLS)
    for moments in (blocks, many):
        moments.merge(moments, compiled=True)
    rows = sample.result()
    rows.merge(rows, compiled=True)
    with_total(stored, compiled=True)


def compile_weights() -> None:
    """Call the kernels of rows with weights."""
    n, key, table = 4_000, file_key(0, ""), label_table(0, 945)
    for writeable in (True, False):
        x, gone = np.arange(float(n)), np.arange(n) % 7 == 0
        codes, w = np.arange(n) % 3, x + 1.0
        x.flags.writeable = writeable
        for mask in (None, gone):
            leaf_moments(x, mask, 0, key, table, chunk_rows=5, weights=Weights(w), compiled=True)
            weighted = leaf_moments(x, mask, 0, key, table, weights=Weights(w), compiled=True)
            stored_moments(x, mask, 0, stored_edges(n, 5), weights=Weights(w), compiled=True)
            weighted_cells = Cells(weighted=True, compiled=True)
            weighted_cells.grow(3 * 105)
            weighted_cells.add_blocks(x, mask, codes, 0, key, table, 9, w)
            weighted_cells.unload(3, 105, 105)
    with_total(weighted.merge(weighted, compiled=True), compiled=True)


def compile_units() -> None:
    """Call the kernels that hash whole units."""
    edges = np.arange(4_001) * 8
    hashes = hash_messages(np.zeros(8 * 4_000, np.uint8), edges, b"key", compiled=True)
    for values in (np.arange(4_000, dtype=np.int32), np.arange(4_000)):
        values.flags.writeable = False
        look_up_hashes(values, 0, None, hashes[0], hashes)


def compile_regrouping() -> None:
    """Call the kernels that keep the rows of blocks, or add up their products."""
    codes, gone = np.arange(4_000) % 3, np.arange(4_000) % 7 == 0
    codes.flags.writeable = False  # as they come from the tables of units
    for writeable in (True, False):
        x = np.arange(float(codes.size))
        x.flags.writeable = writeable
        rows = CellRows(np.full(3, 2 * codes.size), 1, compiled=True)
        for mask in (None, gone):
            rows.add([x], mask, codes)
    leaf_comoments([x], gone, codes, 3, compiled=True)


def compile_pairs() -> None:
    """The same for kernels of pairs: tiles without weights, counts and weights by sorting, draws."""
    x = np.arange(8.0)
    rows = np.stack([x % 3, x % 4], axis=1)
    ranking = [Ranking(loss) for loss in ("hinge", "logistic")]
    for kernel in (distance(), Gaussian(1.0), Laplace(1.0), Clustering(), MetricLoss(((1.0,),)), *ranking):
        tiled_sums(kernel, rows, compiled=True)
    tiled_sums(gini(), x, compiled=True)
    for with_rows in (False, True):
        order_counts(x, x, rows=with_rows, compiled=True)
    order_masses(x, x, x, compiled=True)
    fade(x[1:], x, compiled=True)


PARTS = {
    "rows": compile_rows,
    "weights": compile_weights,
    "units": compile_units,
    "regrouping": compile_regrouping,
    "pairs": compile_pairs,
}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
