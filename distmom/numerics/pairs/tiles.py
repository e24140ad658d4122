"""Complete U-statistics of any kernel of pairs, tile by tile: O(tile) memory plus one sum for each row.

The pairs of one sample (or of two) form a triangle (or a rectangle) of *tiles* (i, j) of at most
2**15 x 2**15 rows, fewer for smaller samples, so that there are enough tiles to share. A tile of one sample
on the diagonal contains each of its pairs once, and no pair of a row with itself. A tile gives the sum at
each of its rows and the sum of squares; it is a unit of work of 2e7 to 1e9 pairs that needs nothing from the
others. Tiles are added row by row of the triangle, whichever worker made them, so the bits do not depend on
the workers.

Within a tile, strips of 512 rows of the first side are lanes, and rows of the second side are added in fours:
lane sums grow by ``(a + b) + (c + d)``, and the sum at a row of the second side is computed by halving. NumPy
and the compiled twin in ``tiles_compiled.py`` follow the same order with the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from distmom.numerics.arrays import Floats
from distmom.numerics.kernels.kernel import Inlined, Kernel, Weights
from distmom.numerics.kernels.sums import Mass, PairSums, add_up, count_tuples
from distmom.numerics.twins import compiled_twin

_kernels = compiled_twin(__name__)

TILE, LEAST_TILE, SIDES = 1 << 15, 1 << 12, 8
"""Most and fewest rows of a side of a tile; and, between these, sides per sample: 36 tiles, which give two or
a few more threads nearly equal shares."""

STRIP = 512
COMPILE = 1 << 20  # below this number of pairs NumPy ends before Numba is loaded


class TileSums(NamedTuple):
    """One tile: the sum over its pairs, the sum of squares, and the sum at each row of its two sides.

    Weighted pairs count with the product of their weights, and a term at a row with the other row's weight.
    On the diagonal of one sample both sides are the same rows: `right` is empty and `left` has their full
    sums. Both are empty if they are not wanted.
    """

    total: float
    squares: float
    left: Floats
    right: Floats


def tile_side(sizes: tuple[int, ...]) -> int:
    """Rows of a side of a tile, a power of two that depends on the size of the samples alone."""
    wanted = -(-max(sizes) // SIDES)
    return min(TILE, max(LEAST_TILE, 1 << (wanted - 1).bit_length()))


def tile_numbers(sizes: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """All tiles in the order in which they are added."""
    side = tile_side(sizes)
    sides = [-(-n // side) for n in sizes]
    for i in range(sides[0]):
        for j in range(i if len(sizes) == 1 else 0, sides[-1]):
            yield i, j


def tile_rows(number: int, side: int) -> slice:
    """Rows of a sample on one side of a tile."""
    return slice(number * side, (number + 1) * side)


def pair_tile(
    kernel: Kernel,
    x: Floats,
    y: Floats | None,
    *,
    rows: bool = True,
    weights: tuple[Floats, Floats] | None = None,
    compiled: bool | None = None,
) -> TileSums:
    """Sums over one tile.

    Parameters
    ----------
    kernel : Kernel
        Of degrees (2,) or (1, 1), with scalar values.
    x : ndarray of float64
        Prepared rows (`Kernel.prepare`) of the first side.
    y : ndarray of float64, or None
        Prepared rows of the second side; None on the diagonal of one sample.
    rows : bool
        Whether sums at rows are wanted; without them a cheap kernel is twice as fast.
    weights : tuple of two ndarrays, optional
        Weights of the rows of both sides.
    compiled : bool, optional
        Use the compiled twin (same bits for kernels of the catalogue). By default for 2**20 pairs or more,
        if the kernel has one; users' compiled functions always.
    """
    same = y is None
    other = x if y is None else y
    left, right = np.zeros(x.shape[0]), np.zeros(other.shape[0] if rows else 0)
    if is_compiled(kernel, compiled, x.shape[0] * other.shape[0]):
        squares = _compiled_pair_sums(kernel, x, other, same, weights, left, right)
    else:
        squares = _numpy_pair_sums(kernel, x, other, same, weights, left, right)
    with np.errstate(invalid="ignore", over="ignore"):
        total = float(add_up(left if weights is None else weights[0] * left))
        if same and rows:
            left = left + right
    return TileSums(total, squares, left if rows else left[:0], left[:0] if same else right)


def is_compiled(kernel: Kernel, wanted: bool | None, n_pairs: float) -> bool:
    """Whether compiled code evaluates the pairs: as wanted, or if there are many."""
    inlined = kernel.compiled
    if inlined is None:
        return False
    if wanted is None:
        return not isinstance(inlined, Inlined) or n_pairs >= COMPILE
    return wanted


def _compiled_pair_sums(
    kernel: Kernel, x: Floats, y: Floats, same: bool, weights: Weights, *sums: Floats
) -> float:
    known = kernel.compiled
    name, first, taken = "function", 0, known
    if isinstance(known, Inlined):
        name, first, taken = known.name, int(known.labelled), known.parameters
    x = np.require(x, np.float64, ["C", "W"])
    y = x if same else np.require(y, np.float64, ["C", "W"])
    masses = (None, None) if weights is None else weights
    return float(_kernels.pair_sums(name)(taken, x, y, first, same, *masses, STRIP, *sums))


class Sides(NamedTuple):
    """Prepared rows of both sides of a tile (on the diagonal none of the second), and the weights of both."""

    x: Floats
    y: Floats | None
    weights: tuple[Floats, Floats] | None


def tile_sides(prepared: Sequence[Floats], weights: tuple[Floats, ...] | None, i: int, j: int) -> Sides:
    """Rows and weights of tile (i, j) of the prepared rows of one or two samples."""
    side = tile_side(tuple(sample.shape[0] for sample in prepared))
    sides = tile_rows(i, side), tile_rows(j, side)
    x = prepared[0][sides[0]]
    y = None if len(prepared) == 1 and i == j else prepared[-1][sides[1]]
    return Sides(x, y, None if weights is None else (weights[0][sides[0]], weights[-1][sides[1]]))


class TileFold:
    """Adds tiles in their order to the sums of a whole block.

    Parameters
    ----------
    kernel : Kernel
    sizes : tuple of int
        Rows of each sample.
    rows : bool
        Whether the tiles have sums at rows.
    weights : tuple of ndarray, optional
        Weights of the rows of each sample.
    """

    def __init__(
        self,
        kernel: Kernel,
        sizes: tuple[int, ...],
        *,
        rows: bool = True,
        weights: tuple[Floats, ...] | None = None,
    ) -> None:
        self._kernel, self._sizes, self._weights = kernel, sizes, weights
        self._rows = [np.zeros(n) for n in sizes] if rows else None
        self._total = self._squares = 0.0
        self._awaited, self._side = tile_numbers(sizes), tile_side(sizes)

    def add(self, i: int, j: int, tile: TileSums) -> None:
        """Add tile (i, j).

        Raises
        ------
        ValueError
            If this tile is not the next one.
        """
        if next(self._awaited, None) != (i, j):
            raise ValueError(f"tile ({i}, {j}) is not the next one")
        with np.errstate(invalid="ignore", over="ignore"):
            self._total += tile.total
            self._squares += tile.squares
            if self._rows is not None:
                self._rows[0][tile_rows(i, self._side)] += tile.left
                if tile.right.size:
                    self._rows[-1][tile_rows(j, self._side)] += tile.right

    def result(self) -> PairSums:
        """The sums over all tiles, as means.

        Raises
        ------
        ValueError
            If tiles are missing.
        """
        missing = next(self._awaited, None)
        if missing is not None:
            raise ValueError(f"tile {missing} is missing")
        masses = [
            Mass(n, None if self._weights is None else self._weights[sample])
            for sample, n in enumerate(self._sizes)
        ]
        row_means: tuple[Floats, ...] | None = None
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            if len(masses) == 1:
                whole = 0.5 * masses[0].ordered
                if self._rows is not None:
                    row_means = (masses[0].at_rows(self._rows[0]),)
            else:
                whole = masses[0].total * masses[1].total
                if self._rows is not None:
                    row_means = (self._rows[0] / masses[1].total, self._rows[1] / masses[0].total)
            n_pairs = count_tuples(self._kernel.degrees, tuple(mass.n_rows for mass in masses))
            mean, second = (np.float64(v) / whole for v in (self._total, self._squares))
            return PairSums(n_pairs, mean, second, row_means)


def tiled_sums(
    kernel: Kernel,
    *samples: Floats,
    rows: bool = True,
    weights: tuple[Floats, ...] | None = None,
    compiled: bool | None = None,
) -> PairSums:
    """The complete U-statistic of a block, tile after tile.

    Parameters
    ----------
    kernel : Kernel
        Of degrees (2,) or (1, 1), with scalar values.
    *samples : ndarray of float64
        One or two.
    rows : bool
        Whether row means are wanted; a cheap kernel is twice as fast without. The mean has the same bits.
    weights : tuple of ndarray, optional
        Non-negative weights of the rows of each sample.
    compiled : bool, optional
        As in `pair_tile`; the default considers the whole block.

    Returns
    -------
    PairSums
        With `second`.
    """
    sizes = tuple(sample.shape[0] for sample in samples)
    compiled = is_compiled(kernel, compiled, float(sizes[0]) * float(sizes[-1]))
    prepared = [kernel.prepare(sample) for sample in samples]
    fold = TileFold(kernel, sizes, rows=rows, weights=weights)
    for i, j in tile_numbers(sizes):
        x, y, masses = tile_sides(prepared, weights, i, j)
        fold.add(i, j, pair_tile(kernel, x, y, rows=rows, weights=masses, compiled=compiled))
    return fold.result()


def _numpy_pair_sums(
    kernel: Kernel, x: Floats, y: Floats, same: bool, weights: Weights, left: Floats, right: Floats
) -> float:
    """Twin of `tiles_compiled.pair_sums`."""
    total, passing = 0.0, _rows_at_once(x)
    with np.errstate(invalid="ignore", over="ignore"):
        for x0 in range(0, x.shape[0], STRIP):
            strip = x[x0 : x0 + STRIP]
            for y0 in range(x0 if same else 0, y.shape[0], STRIP):
                sums, squares = np.zeros(strip.shape[0]), np.zeros(strip.shape[0])
                for start in range(y0, min(y0 + STRIP, y.shape[0]), passing):
                    stop = min(start + passing, y0 + STRIP, y.shape[0])
                    values = np.array(
                        kernel.prepared_value(strip[None], y[start:stop, None]), np.float64, ndmin=2
                    )
                    if same and y0 == x0:  # each pair once, none of a row with itself
                        values[np.arange(strip.shape[0]) >= np.arange(start - x0, stop - x0)[:, None]] = 0.0
                    if weights is None:
                        _add_fours(values, sums, squares)
                    else:
                        of_x, of_y = weights[0][x0 : x0 + STRIP], weights[1][start:stop]
                        for row, weight in zip(values, of_y, strict=True):
                            sums += weight * row
                            squares += (of_x * weight) * (row * row)
                        values *= of_x
                    if right.size:
                        right[start:stop] += _halve(values)
                left[x0 : x0 + STRIP] += sums
                total += float(_halve(squares[None])[0])
    return total


def _rows_at_once(x: Floats) -> int:
    """Rows of the second side that pass together, a multiple of 4: enough for few, large operations."""
    return max(4, STRIP // math.prod(x.shape[1:]) // 4 * 4)


def _add_fours(values: Floats, sums: Floats, squares: Floats) -> None:
    """Add rows of the second side to the lanes in fours; the last four may be incomplete.

    Few operations on large arrays: between them Python's lock is held, and threads block each other.
    """
    short = -values.shape[0] % 4
    if short:
        values = np.concatenate([values, np.zeros((short, values.shape[1]))])
    for total, terms in ((sums, values), (squares, values * values)):
        a, b, c, d = terms.reshape(-1, 4, values.shape[1]).swapaxes(0, 1)
        fours = np.concatenate([total[None], (a + b) + (c + d)])
        # several columns are added row by row; a single one would be added in pairs
        total[:] = np.add.reduce(fours, axis=0) if total.size > 1 else np.add.accumulate(fours, axis=0)[-1]


def _halve(values: Floats) -> Floats:
    """Sum of each row by adding its upper half to the lower one; `values` are overwritten."""
    size = values.shape[1]
    while size > 1:
        half = size // 2
        values[:, :half] += values[:, size - half : size]
        size -= half
    return values[:, 0].copy()
