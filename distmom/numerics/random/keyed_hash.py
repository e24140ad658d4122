"""64-bit keyed hashes of many short messages, which assign whole units to cells.

The hash is BLAKE2b (RFC 7693) with 8 bytes of output, so no pattern of names or numbers survives, and two
units share a hash with probability 2**-64.
"""

from __future__ import annotations

import hashlib
import itertools

import numpy as np
from numpy.typing import NDArray

from distmom.numerics.arrays import Bools, Ints, Words, read_only
from distmom.numerics.blocks.labels import GOLDEN, mix
from distmom.numerics.twins import compiled_twin

_kernels = compiled_twin(__name__)

LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)
PIECE = 1 << 13  # rows whose intermediate results stay in the nearest cache


def hash_messages(data: NDArray[np.uint8], edges: Ints, secret: bytes, *, compiled: bool = False) -> Words:
    """Keyed hash of each message.

    Parameters
    ----------
    data : ndarray of uint8
        The messages, one after the other.
    edges : ndarray of int64, shape (n + 1,)
        Message i is ``data[edges[i] : edges[i + 1]]``.
    secret : bytes
        The key, 1 to 64 bytes.
    compiled : bool
        Use the compiled twin (same bits).

    Returns
    -------
    ndarray of uint64, shape (n,)
    """
    out = np.empty(edges.size - 1, np.uint64)
    if compiled and _kernels.ready("blake2b_words", out.size):
        data = data.view()
        data.flags.writeable = False  # for some arrays it is not: one kind avoids a second compiled kernel
        _kernels.blake2b_words(data, edges, np.frombuffer(secret, np.uint8), out)
        return out
    everything = data.tobytes()
    start = hashlib.blake2b(digest_size=8, key=secret)
    for i, (low, high) in enumerate(itertools.pairwise(edges.tolist())):
        keyed = start.copy()
        keyed.update(everything[low:high])
        out[i] = int.from_bytes(keyed.digest(), "little")
    return out


def join_hashes(left: Words, right: Words) -> Words:
    """Hash of pairs of hashes; the order within a pair counts."""
    with np.errstate(over="ignore"):
        return mix(left * GOLDEN + right)


def look_up_hashes(
    values: NDArray[np.generic], base: int, valid: Bools | None, null: np.uint64, table: Words
) -> Words | None:
    """Entry ``value - base`` of a table for each integer, and `null` where it is not valid; compiled only.

    None if a value is outside the table or its entry is 0, which means unknown.
    """
    none = np.empty(0, np.bool_) if valid is None else valid
    found = np.empty(values.size, np.uint64)
    return found if _kernels.look_up_words(read_only(values), base, none, null, table, found) else None


def unit_cells(codes: Ints, hashes: Words, n_cells: int) -> Ints:
    """Cells of rows: their group's code times `n_cells`, below 2**32, plus the cell of their unit.

    The latter is `labels.file_cell` of the hash: the whole part of hash * n_cells / 2**64.
    """
    n, cells = np.uint64(n_cells), np.empty(codes.size, np.int64)
    for start in range(0, codes.size, PIECE):
        part = slice(start, start + PIECE)
        low = ((hashes[part] & LOW) * n) >> HALF
        high = ((hashes[part] >> HALF) * n + low) >> HALF
        cells[part] = codes[part] * n_cells + high.astype(np.int64)
    return cells
