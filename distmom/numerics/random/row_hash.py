"""Hashes of rows of any types, and a checksum of rows that does not depend on their order.

The checksum, a sum of 64-bit hashes modulo 2**64, tells whether two sets of rows are the same with repeats: a
row that is lost, altered or doubled by mistake goes unnoticed with a probability of about 2**-64. It is no
safeguard against someone who alters rows on purpose.
"""

from __future__ import annotations

import numpy as np

from distmom.numerics.arrays import Ints, Words
from distmom.numerics.blocks.labels import GOLDEN, mix

NULL = np.uint64(0x6E756C6C)
"""Stands for a null: what it hashes to differs from all words but by chance."""


def hash_words(words: Words, salt: int = 0) -> Words:
    """Hash of each word."""
    with np.errstate(over="ignore"):
        return mix(words * GOLDEN + np.uint64(salt + 1))


def hash_items(items: Words, edges: Ints) -> Words:
    """Hash of lists of hashed items; the order within a list counts, and its length.

    Parameters
    ----------
    items : ndarray of uint64
        Hashes of the items of all lists, one after the other.
    edges : ndarray of int64, shape (n + 1,)
        List i is ``items[edges[i] : edges[i + 1]]``.
    """
    lengths = edges[1:] - edges[:-1]
    places = np.arange(edges[0], edges[-1]) - np.repeat(edges[:-1], lengths)
    with np.errstate(over="ignore"):
        each = mix(items[edges[0] : edges[-1]] + places.astype(np.uint64) * GOLDEN)
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(each, dtype=np.uint64)])
        total = sums[edges[1:] - edges[0]] - sums[edges[:-1] - edges[0]]
    return hash_words(total ^ lengths.astype(np.uint64))


def join_columns(columns: list[Words], n_rows: int) -> Words:
    """Hash of rows from the hashes of their columns; the order of the columns counts."""
    found = np.zeros(n_rows, np.uint64)
    with np.errstate(over="ignore"):
        for column in columns:
            found = mix(found * GOLDEN + column)
    return found


def checksum(hashes: Words) -> int:
    """Sum of the hashes of rows, modulo 2**64."""
    return int(np.add.reduce(hashes, dtype=np.uint64)) if hashes.size else 0


def add_checksums(left: int, right: int) -> int:
    """The checksum of both sets of rows."""
    return (left + right) % (1 << 64)
