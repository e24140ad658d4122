"""The block of a row: a pure function of seed, file path, row number and number of blocks.

The rows of a file are divided into *runs* of ``n_blocks`` consecutive rows, and in each run every block gets
one row, in random order. A table of a few random permutations serves all runs; a hash of (seed, path, run)
determines the permutation and the rotation of a run. So labels need no state, no other file and no row count.
They divide any contiguous range almost evenly, and a cyclic pattern in the data cannot coincide with them.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from distmom.numerics.arrays import Ints, Words
from distmom.numerics.random.philox import permutation, stream_key

PERMUTATIONS = 16  # a power of two; the whole table of 945 blocks then takes 60 kB
SHORT = 1 << 16  # tables of up to this many blocks have 16-bit places
COMPILE = 1 << 15  # shuffling more than these in Python takes longer than loading the compiled twin
GOLDEN = np.uint64(0x9E3779B97F4A7C15)

_making = Lock()

Labels = NDArray[np.unsignedinteger]
"""With as few bits as the places of a table."""


def file_key(seed: int, path: str) -> np.uint64:
    """64 hashed bits of (seed, relative path): the key of all draws of a file."""
    secret = seed.to_bytes(16, "little")
    digest = hashlib.blake2b(path.encode("utf-8", "surrogateescape"), digest_size=8, key=secret).digest()
    return np.uint64(int.from_bytes(digest, "little"))


def repeat_seed(seed: int, number: int) -> int:
    """The seed of the labels of one of several partitions of the same rows; number 0 is the seed itself."""
    if number == 0:
        return seed
    purpose = f"repeat/{number}".encode()
    secret = seed.to_bytes(16, "little")
    digest = hashlib.blake2b(purpose, digest_size=16, key=secret, person=b"distmom").digest()
    return int.from_bytes(digest, "little")


def file_cell(key: np.uint64, n_cells: int) -> int:
    """The cell, out of `n_cells`, that contains all rows of the file with this key."""
    return (int(key) * n_cells) >> 64


def file_cells(keys: Words, n_cells: int) -> Ints:
    """The same for many files; `n_cells` below 2^32."""
    n, half = np.uint64(n_cells), np.uint64(32)
    low = (keys & np.uint64(0xFFFFFFFF)) * n >> half
    return ((keys >> half) * n + low >> half).astype(np.int64)


def mix(z: Words) -> Words:
    """SplitMix64's finaliser: a bijection of 64-bit words that scatters consecutive ones."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@dataclass(frozen=True, eq=False)
class LabelTable:
    """The permutations of one (seed, n_blocks).

    Attributes
    ----------
    n_blocks : int
    inverse : ndarray of uint32 or uint16, shape (PERMUTATIONS, 2 * n_blocks)
        ``inverse[t, rotation + k]`` is the place in its run of the row of block k. Each permutation is stored
        twice in a row, so that a rotation is a slice.
    forward : ndarray, shape (PERMUTATIONS, n_blocks)
        ``(forward[t, place] - rotation) mod n_blocks`` is the block of the row at `place`.
    """

    n_blocks: int
    inverse: Labels
    forward: Labels


def label_table(seed: int, n_blocks: int) -> LabelTable:
    """The table of permutations for this seed and number of blocks (cached in each process)."""
    with _making:  # threads start together, and one table is enough
        return _label_table(seed, n_blocks)


@lru_cache(maxsize=16)
def _label_table(seed: int, n_blocks: int) -> LabelTable:
    return _new_table(seed, n_blocks)


@lru_cache(maxsize=4)
def repeat_tables(seed: int, n_blocks: int, repeats: int) -> tuple[LabelTable, ...]:
    """The tables of several partitions, each under its `repeat_seed` (cached together)."""
    return tuple(_new_table(repeat_seed(seed, number), n_blocks) for number in range(repeats))


def repeat_key(key: np.uint64, seed: int, number: int) -> np.uint64:
    """The key of a file's runs in one of several partitions, from its `file_key` in the first one."""
    return key if number == 0 else file_key(repeat_seed(seed, number), str(int(key)))


def table_bytes(n_blocks: int) -> int:
    """Bytes of one table."""
    return 3 * PERMUTATIONS * n_blocks * (2 if n_blocks <= SHORT else 4)


def _new_table(seed: int, n_blocks: int) -> LabelTable:
    dtype = np.uint16 if n_blocks <= SHORT else np.uint32
    key = stream_key(seed, f"labels/{n_blocks}")
    compiled = n_blocks > COMPILE
    inverse = np.empty((PERMUTATIONS, n_blocks), dtype)
    for t in range(PERMUTATIONS):
        inverse[t] = permutation(key, t, n_blocks, compiled=compiled)
    forward = np.empty_like(inverse)
    np.put_along_axis(forward, inverse.astype(np.int64), np.arange(n_blocks, dtype=dtype)[None, :], axis=1)
    return LabelTable(n_blocks, np.concatenate([inverse, inverse], axis=1), forward)


def run_choices(first_run: int, n_runs: int, key: np.uint64, n_blocks: int) -> tuple[Ints, Ints]:
    """Permutation and rotation of each of `n_runs` runs, from run `first_run` of a file on."""
    return run_choices_of(np.arange(first_run, first_run + n_runs, dtype=np.uint64), key, n_blocks)


def run_choices_of(runs: Words, key: np.uint64 | Words, n_blocks: int) -> tuple[Ints, Ints]:
    """The same for runs in any order, of one file, or of several with a key for each."""
    with np.errstate(over="ignore"):
        z = mix(runs * GOLDEN + key)
        rotation = ((z >> np.uint64(32)) * np.uint64(n_blocks)) >> np.uint64(32)
    return (z & np.uint64(PERMUTATIONS - 1)).astype(np.int64), rotation.astype(np.int64)


def labels(first_row: int, n_rows: int, key: np.uint64, table: LabelTable, width: int = 1) -> Labels:
    """The blocks of rows ``first_row … first_row + n_rows - 1`` of the file with this key.

    Parameters
    ----------
    first_row, n_rows : int
        Row numbers within the file.
    key : uint64
        `file_key` of the file.
    table : LabelTable
    width : int
        Number of neighbouring labels of the table that form one block.

    Returns
    -------
    ndarray of uint16 or uint32, shape (n_rows,)
        Block numbers in ``[0, table.n_blocks // width)``.
    """
    k = table.n_blocks
    first_run = first_row // k
    n_runs = (first_row + n_rows - 1) // k - first_run + 1 if n_rows else 0
    choice, rotation = run_choices(first_run, n_runs, key, k)
    places, narrow = table.forward[choice], table.forward.dtype  # uint wraps around: twice gives the block
    turned = rotation.astype(narrow)[:, None]
    blocks = places - turned + (places < turned) * narrow.type(k % (int(np.iinfo(narrow).max) + 1))
    start = first_row - first_run * k
    blocks = blocks.reshape(-1)[start : start + n_rows]
    return blocks if width == 1 else blocks // narrow.type(width)


def chunk_labels(
    first_row: int, n_rows: int, chunk_rows: int, key: np.uint64, table: LabelTable, width: int = 1
) -> Labels:
    """As `labels`, for chunks of `chunk_rows` consecutive rows: all rows of chunk j have the label of row j.

    Chunk j of a file contains its rows ``j * chunk_rows … (j + 1) * chunk_rows - 1``.
    """
    if n_rows == 0 or chunk_rows == 1:
        return labels(first_row, n_rows, key, table, width)
    first, last = first_row // chunk_rows, (first_row + n_rows - 1) // chunk_rows
    edges = np.arange(first, last + 2, dtype=np.int64) * chunk_rows - first_row
    edges = np.clip(edges, 0, n_rows)  # the outer chunks may begin before or end after the rows
    lengths: Ints = edges[1:] - edges[:-1]
    return np.repeat(labels(first, last - first + 1, key, table, width), lengths)


def stored_labels(first: int, n_rows: int, total: int, n_blocks: int) -> Ints:
    """Contiguous blocks: row r of a lake of `total` rows belongs to block floor(r * n_blocks / total).

    `first` is the number, in the whole lake, of the first of the `n_rows` rows.
    """
    edges = stored_edges(total, n_blocks)
    return np.searchsorted(edges, np.arange(first, first + n_rows), side="right") - 1


@lru_cache(maxsize=16)
def stored_edges(total: int, n_blocks: int) -> Ints:
    """First row of each contiguous block, and `total`: block k is rows edges[k] … edges[k + 1] - 1."""
    edges = np.array([-(-k * total // n_blocks) for k in range(n_blocks + 1)], dtype=np.int64)
    edges.flags.writeable = False  # the cache returns the same array to all callers
    return edges
