"""An exactly uniform permutation of any number of rows, in two steps that need a part of them at a time.

Every row has an independent uniform bucket, and the rows of each bucket get a uniform order. That is what
sorting by independent uniform keys does, of which the bucket is the first digits: so all n! orders of the
rows are equally likely. The buckets differ a little in size, as they must.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from distmom.numerics.arrays import Ints
from distmom.numerics.blocks.labels import COMPILE
from distmom.numerics.random.philox import permutation, philox, stream_key
from distmom.numerics.twins import compiled_twin

_kernels = compiled_twin("distmom.numerics.samples.sampled_leaf")

MOST_BITS = 12
"""The buckets are 2**bits; more would make pieces of them too small to be read one by one."""

STRETCH = 1 << 20
"""Rows of a file whose words come from one stream."""


def row_buckets(
    seed: int, file: int, first_row: int, n_rows: int, bits: int, *, compiled: bool = False
) -> NDArray[np.uint16]:
    """Buckets of consecutive rows of a file: independent, uniform on 0 ... 2**bits - 1.

    Parameters
    ----------
    seed : int
        128 bits.
    file : int
        Number of the file in its listing, below 2**32.
    first_row, n_rows : int
        Rows of the file.
    bits : int
        0 to `MOST_BITS`.
    compiled : bool
        Use Numba (same buckets).

    Returns
    -------
    ndarray of uint16, shape (n_rows,)
        Functions of seed, file and row number alone.
    """
    if not 0 <= bits <= MOST_BITS:
        raise ValueError(f"bits must be in [0, {MOST_BITS}], got {bits}")
    if bits == 0:
        return np.zeros(n_rows, np.uint16)
    key = stream_key(seed, "shuffle/buckets")
    found = []
    row, stop = first_row, first_row + n_rows
    while row < stop:
        node, start = divmod(row, STRETCH)
        end = min(stop - node * STRETCH, STRETCH)
        halves = _halves(key, file, node, start // 4, -(-end // 4), compiled)
        found.append((halves[start % 4 :][: end - start] >> np.uint32(32 - bits)).astype(np.uint16))
        row = node * STRETCH + end
    return np.concatenate(found) if found else np.empty(0, np.uint16)


def _halves(
    key: np.uint64, file: int, node: int, first: int, stop: int, compiled: bool
) -> NDArray[np.uint32]:
    """The 32-bit words of the counters `first` to `stop` - 1, four of each."""
    out = np.empty((4, stop - first), np.uint32)
    if compiled:
        _kernels.fill_halves(key, np.uint64(first), np.uint64(file), np.uint64(node), stop - first, *out)
    else:
        index = np.arange(first, stop, dtype=np.uint64)
        address = np.array([[file], [node]], np.uint64)
        out[:] = philox(key, index, address[0], address[1])
    return np.ascontiguousarray(out.T).reshape(-1)


def bucket_order(seed: int, bucket: int, n_rows: int, *, compiled: bool = False) -> Ints:
    """A uniform order of the rows of a bucket, which come by file and row: place i gets row ``order[i]``."""
    key = stream_key(seed, "shuffle/order")
    return permutation(key, bucket, n_rows, compiled=compiled or n_rows > COMPILE)


def bucket_bits(n_bytes: float, bucket_bytes: float) -> int:
    """Bits so that buckets of rows of `n_bytes` in all have at most about `bucket_bytes` each."""
    bits = 0
    while bits < MOST_BITS and n_bytes > bucket_bytes * (1 << bits):
        bits += 1
    return bits
