"""Random disjoint parts of numbered rows, for samples that are drawn from one part.

In each run of P consecutive rows every part has one row: the parts take turns, from a random start.
"""

from __future__ import annotations

import numpy as np

from distmom.numerics.arrays import Ints
from distmom.numerics.random.philox import stream_key, word_pairs


def rows_of_part(seed: int, n_parts: int, part: int, places: Ints) -> Ints:
    """The rows at some places of a part.

    Parameters
    ----------
    seed : int
        128 bits.
    n_parts, part : int
    places : ndarray of int64
        Below n // n_parts, for n rows; the last n % n_parts rows are in no part.

    Returns
    -------
    ndarray of int64
        Row numbers, in the order of the places.

    Examples
    --------
    >>> import numpy as np
    >>> both = [rows_of_part(0, 2, part, np.arange(3)) for part in range(2)]
    >>> sorted(np.concatenate(both).tolist())
    [0, 1, 2, 3, 4, 5]
    """
    runs = places.astype(np.uint64)
    nothing = np.zeros(1, np.uint64)
    first, _ = word_pairs(stream_key(seed, "parts"), nothing, nothing, runs.reshape(-1))
    starts = (first % np.uint64(n_parts)).astype(np.int64).reshape(places.shape)
    return places * n_parts + (part + starts) % n_parts
