"""Compiled sums of a leaf whose rows are labelled in chunks; `leaf.labelled_moments` has the same bits."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import numpy as np

from distmom.numerics._jit import entry, inline, njit
from distmom.numerics.blocks.labels_compiled import run_choice
from distmom.numerics.blocks.leaf_compiled import finish
from distmom.numerics.blocks.moments_compiled import total_row


@entry("=f8[] b1[] i8 i8 u8 u2[,] f8 i8[] f8[] f8[]", pays=160e6)
def leaf_chunks(x, gone, first_row, chunk_rows, key, forward, shift, count, mean, m2):
    """Moments of the blocks of a leaf, and last of all its rows; returns whether a block lost digits."""
    k = count.size - 1
    missing = count[:k]  # from 0 downwards: minus the rows
    s1 = mean[:k]
    s2 = m2[:k]
    missing[:] = 0
    s1[:] = 0.0
    s2[:] = 0.0
    if gone.size > 0:
        out, hidden = np.empty(x.size), np.empty(x.size)
        for i in range(x.size):
            out[i] = 0.0 if gone[i] else x[i] - shift
            hidden[i] = gone[i]
        n_gone, rest, none = np.zeros(k), np.zeros(k), np.zeros(k, np.int64)
        add_chunks(hidden, first_row, chunk_rows, key, forward, 0.0, n_gone, rest, none)
        add_chunks(out, first_row, chunk_rows, key, forward, 0.0, s1, s2, missing)
        for block in range(k):
            missing[block] += np.int64(n_gone[block])
    else:
        add_chunks(x, first_row, chunk_rows, key, forward, shift, s1, s2, missing)
    lost = finish(0, shift, missing, s1, s2)
    count[k], mean[k], m2[k] = total_row(missing, s1, s2)
    return lost


@njit
def add_chunks(x, first_row, chunk_rows, key, forward, shift, s1, s2, missing):
    """Add ``x - shift`` and its square to the blocks, and subtract the rows from `missing`.

    Each addition to a block waits for the one before. Chunks of one run have different blocks, so four of
    them are summed side by side, each in its own order.
    """
    n = x.size
    k_blocks = s1.size
    chunk = first_row // chunk_rows
    run = chunk // k_blocks
    place = chunk - run * k_blocks
    left = (chunk + 1) * chunk_rows - first_row  # remaining rows of the first chunk
    i = 0
    while i < n:
        choice, rotation = run_choice(run, key, k_blocks)
        blocks = forward[choice]
        while i < n and place < k_blocks:
            if left == chunk_rows and place + 4 <= k_blocks and n - i >= 4 * chunk_rows:
                p = np.int64(blocks[place]) - rotation
                q = np.int64(blocks[place + 1]) - rotation
                r = np.int64(blocks[place + 2]) - rotation
                t = np.int64(blocks[place + 3]) - rotation
                p += k_blocks if p < 0 else 0
                q += k_blocks if q < 0 else 0
                r += k_blocks if r < 0 else 0
                t += k_blocks if t < 0 else 0
                add_four(x[i : i + 4 * chunk_rows], chunk_rows, shift, s1, s2, p, q, r, t)
                missing[p] -= chunk_rows
                missing[q] -= chunk_rows
                missing[r] -= chunk_rows
                missing[t] -= chunk_rows
                i += 4 * chunk_rows
                place += 4
                continue
            block = np.int64(blocks[place]) - rotation
            block += k_blocks if block < 0 else 0
            m = min(left, n - i)
            a = s1[block]
            b = s2[block]
            for j in range(i, i + m):
                d = x[j] - shift
                a += d
                b += d * d
            s1[block] = a
            s2[block] = b
            missing[block] -= m
            i += m
            place += 1
            left = chunk_rows
        place = 0
        run += 1


@inline
def add_four(x, chunk_rows, shift, s1, s2, p, q, r, t):
    """Add four chunks to four blocks."""
    a0, a1, a2, a3 = s1[p], s1[q], s1[r], s1[t]
    b0, b1, b2, b3 = s2[p], s2[q], s2[r], s2[t]
    x0 = x[:chunk_rows]
    x1 = x[chunk_rows : 2 * chunk_rows]
    x2 = x[2 * chunk_rows : 3 * chunk_rows]
    x3 = x[3 * chunk_rows : 4 * chunk_rows]
    for j in range(chunk_rows):
        d0 = x0[j] - shift
        d1 = x1[j] - shift
        d2 = x2[j] - shift
        d3 = x3[j] - shift
        a0 += d0
        a1 += d1
        a2 += d2
        a3 += d3
        b0 += d0 * d0
        b1 += d1 * d1
        b2 += d2 * d2
        b3 += d3 * d3
    s1[p], s1[q], s1[r], s1[t] = a0, a1, a2, a3
    s2[p], s2[q], s2[r], s2[t] = b0, b1, b2, b3
