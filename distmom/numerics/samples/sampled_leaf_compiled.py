"""Compiled samples of a leaf and their moments; twins and explanations are in ``sampled_leaf.py``."""

# mypy: allow-untyped-defs, allow-untyped-calls, allow-incomplete-defs

from __future__ import annotations

import numpy as np

from distmom.numerics._jit import entry, njit
from distmom.numerics.random.philox_compiled import philox

U = np.uint64
_ONE = U(1)
_HALF = U(32)
_LOW = U(0xFFFFFFFF)
_BIT = U(63)
_SIX = U(6)
_RANGE = U(1 << 32)


@njit
def fill_halves(key, index, block, node, count, c0, c1, c2, c3):
    """The four 32-bit words of `count` counters, each word in its own array: this vectorises the loop."""
    for i in range(count):
        w0, w1, w2, w3 = philox(key, index + U(i), block, node)
        c0[i], c1[i], c2[i], c3[i] = np.uint32(w0), np.uint32(w1), np.uint32(w2), np.uint32(w3)


@njit
def bounded_rows(key, block, leaf, bound, growth, size, halves, out):
    """Number i of `out` uniform below ``bound + i * growth`` (Lemire with rejection), from words in order."""
    index = U(0)
    step = 0
    while step < size:
        count = min(halves.shape[1], (size - step + 3) // 4)
        fill_halves(key, index, block, leaf, count, halves[0], halves[1], halves[2], halves[3])
        index += U(count)
        for i in range(count):
            for lane in range(4):
                product = U(halves[lane, i]) * bound
                lower = product & _LOW
                if lower < bound and lower < (_RANGE - bound) % bound:
                    continue
                if step < size:
                    out[step] = np.int32(product >> _HALF)
                    step += 1
                    bound += growth


@njit
def floyd(key, block, leaf, n, size, bitmap, halves, out):
    """`size` distinct rows of 0 ... n - 1 into `out`, marked in `bitmap` (all zero before)."""
    bounded_rows(key, block, leaf, U(n - size + 1), _ONE, size, halves, out)
    for step in range(size):
        row = U(out[step])
        if (bitmap[row >> _SIX] >> (row & _BIT)) & _ONE:
            row = U(n - size + step)
            out[step] = np.int32(row)
        bitmap[row >> _SIX] |= _ONE << (row & _BIT)


@njit
def sample_rows(key, block, leaf, n, size, replace, bitmap, halves, out):
    """Twin of `sampled_leaf.leaf_sample`; leaves `bitmap` all zero again."""
    if replace:
        bounded_rows(key, block, leaf, U(n), U(0), size, halves, out)
        return
    few = min(size, n - size)
    floyd(key, block, leaf, n, few, bitmap, halves, out)
    if few < size:
        at = 0
        for row in range(n):
            if not (bitmap[row >> 6] >> (U(row) & _BIT)) & _ONE:
                out[at] = row
                at += 1
        bitmap[:] = U(0)
    elif few * 64 > n:
        bitmap[:] = U(0)
    else:
        for i in range(few):
            bitmap[out[i] >> 6] = U(0)


@entry("u8 i8 u8 i8 i8[] b1 i8 i8[] i8[]")
def fill_numbers(key, first_block, leaf, n, sizes, replace, first_row, places, out) -> None:
    """The rows of each block, as numbers from `first_row` on, into its places of `out`, which advance."""
    bitmap = np.zeros(n // 64 + 1, dtype=np.uint64)
    halves = _words()
    rows = np.empty(sizes.max(), dtype=np.int32)
    for k in range(sizes.size):
        if sizes[k] > 0:
            sample_rows(key, U(first_block + k), leaf, n, sizes[k], replace, bitmap, halves, rows)
            for i in range(sizes[k]):
                out[places[k] + i] = first_row + rows[i]
            places[k] += sizes[k]


@njit
def _words():
    return np.empty((4, 256), dtype=np.uint32)


@njit
def drop(rows, size, gone):
    """Remove rows that are gone from the drawn ones; returns how many are left."""
    if gone.size == 0:
        return size
    used = 0
    for i in range(size):
        row = rows[i]
        rows[used] = row
        used += not gone[row]  # no branch: it would be mispredicted
    return used


@njit
def finish(shift, s1, s2, used):
    """Mean and m2 from the sums of deviations from `shift` and of their squares."""
    if not np.isfinite(shift):
        return shift, np.nan
    if not np.isfinite(s2):
        return shift, np.inf
    return shift + s1 / used, max(0.0, s2 - s1 * (s1 / used))


@njit
def moments(x, rows, values):
    """Mean and m2 of the values of some rows, at least one."""
    n = rows.size
    total = 0.0
    for i in range(n):
        values[i] = x[rows[i]]
        total += values[i]
    shift = total / n
    if not np.isfinite(shift):
        shift = 0.0
        for i in range(n):
            shift += values[i] / n
    s1 = s2 = 0.0
    for i in range(n):
        d = values[i] - shift
        s1 += d
        s2 += d * d
    return finish(shift, s1, s2, n)


@njit
def group_moments(x, codes, rows, values, groups, sums, count, mean, m2):
    """The same for each group, with its number of rows."""
    n_groups = count.size
    shift, s1, s2 = sums[0], sums[1], sums[2]
    sums[:] = 0.0
    for i in range(rows.size):
        values[i], groups[i] = x[rows[i]], codes[rows[i]]
    for i in range(rows.size):
        count[groups[i]] += 1
        s1[groups[i]] += values[i]
    outlying = False
    for g in range(n_groups):
        shift[g] = s1[g] / max(1, count[g])
        outlying |= not np.isfinite(shift[g])
    if outlying:
        s1[:] = 0.0
        for i in range(rows.size):
            s1[groups[i]] += values[i] / count[groups[i]]
        for g in range(n_groups):
            if not np.isfinite(shift[g]):
                shift[g] = s1[g]
    s1[:] = 0.0
    for i in range(rows.size):
        d = values[i] - shift[groups[i]]
        s1[groups[i]] += d
        s2[groups[i]] += d * d
    for g in range(n_groups):
        if count[g] > 0:
            mean[g], m2[g] = finish(shift[g], s1[g], s2[g], count[g])


@entry("=f8[] =b1[] =i8[] u8 u8 =i8[] b1 i8[,] f8[,] f8[,]")
def block_moments(x, gone, codes, key, leaf, sizes, replace, count, mean, m2) -> None:
    """Twin of `sampled_leaf.sampled_leaf_moments`; `codes` of size 0: one group. Results are (K, groups)."""
    n = x.size
    bitmap = np.zeros(n // 64 + 1, dtype=np.uint64)
    halves = _words()
    rows = np.empty(sizes.max(), dtype=np.int32)
    values, groups = np.empty(rows.size), np.empty(rows.size if codes.size else 0, dtype=np.int64)
    sums = np.empty((3, count.shape[1]))
    for k in range(sizes.size):
        sample_rows(key, U(k), leaf, n, sizes[k], replace, bitmap, halves, rows)
        used = rows[: drop(rows, sizes[k], gone)]
        if codes.size > 0:
            group_moments(x, codes, used, values, groups, sums, count[k], mean[k], m2[k])
        elif used.size > 0:
            count[k, 0] = used.size
            mean[k, 0], m2[k, 0] = moments(x, used, values)
