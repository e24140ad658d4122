"""Compiled running moments of cells; the NumPy twins with the same bits are in ``cells.py``."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import math

import numpy as np

from distmom.numerics._jit import njit
from distmom.numerics.labels_compiled import run_choice


@njit
def add_rows(x, gone, cells, table):
    """Add each value to the moments of its cell; `gone` of size 0 means that all rows count."""
    some_gone = gone.size > 0
    for i in range(x.size):
        if some_gone and gone[i]:
            continue
        cell = table[cells[i]]
        v = x[i]
        n = cell[0] + 1.0
        cell[0] = n
        mean = cell[1]
        delta = v - mean
        if math.isfinite(delta):
            moved = mean + delta / n
            cell[2] += delta * (v - moved)
            cell[1] = moved
        elif math.isfinite(mean) and math.isfinite(v):
            cell[1] = mean * ((n - 1.0) / n) + v / n
            cell[2] = math.inf
        else:
            cell[1] = v if n == 1.0 else mean + v
            cell[2] = math.nan


@njit
def label_cells(codes, first_row, key, forward, blocks, n_blocks, out):
    """Cell of each row: code * n_blocks + block of its label."""
    k_labels = forward.shape[1]
    n = codes.size
    i = 0
    run = first_row // k_labels
    offset = first_row - run * k_labels
    while i < n:
        choice, rotation = run_choice(run, key, k_labels)
        row = forward[choice]
        m = min(k_labels - offset, n - i)
        for j in range(m):
            label = np.int64(row[offset + j]) - rotation
            if label < 0:
                label += k_labels
            out[i + j] = codes[i + j] * n_blocks + blocks[label]
        i += m
        offset = 0
        run += 1


@njit
def chunk_cells(codes, first_row, chunk_rows, key, forward, blocks, n_blocks, out):
    """As `label_cells`, where `chunk_rows` consecutive rows have one label."""
    k_labels = forward.shape[1]
    n = codes.size
    chunk = first_row // chunk_rows
    run = chunk // k_labels
    place = chunk - run * k_labels
    left = (chunk + 1) * chunk_rows - first_row
    i = 0
    while i < n:
        choice, rotation = run_choice(run, key, k_labels)
        row = forward[choice]
        while i < n and place < k_labels:
            label = np.int64(row[place]) - rotation
            if label < 0:
                label += k_labels
            block = blocks[label]
            m = min(left, n - i)
            for j in range(i, i + m):
                out[j] = codes[j] * n_blocks + block
            i += m
            place += 1
            left = chunk_rows
        place = 0
        run += 1
