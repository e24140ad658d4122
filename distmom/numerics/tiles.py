"""Complete U-statistics of any kernel of pairs, tile by tile: O(tile) memory beside one sum for each row.

The pairs of one sample (or of two) are a triangle (or a rectangle) of *tiles* (i, j) of 2**15 x 2**15 rows; a
tile of one sample on the diagonal holds each of its pairs once, and none of a row with itself. A tile gives
the sum at each of its rows and the sum of squares; it is a unit of work, about 1e9 pairs, that knows nothing
of the others. Tiles are added row by row of the triangle, whoever made them, so the bits do not depend on who
did.

Within a tile strips of 512 rows of the first side stand in lanes, and rows of the second side pass by in
fours: lane sums grow by ``(a + b) + (c + d)``, the sum at a passing row is taken by halving. NumPy and the
compiled twin in ``tiles_compiled.py`` follow the same order with the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from distmom.numerics import tile_types
from distmom.numerics.kernels.kernel import Kernel
from distmom.numerics.kernels.sums import Floats, PairSums, add_up, count_tuples

TILE = 1 << 15
STRIP = 512
_PASSING = 64  # rows of the second side that NumPy takes at once, a multiple of 4
COMPILE = 1 << 20  # below so many pairs NumPy is done before Numba is loaded


@cache
def _kernels() -> Any:
    """The compiled twins, imported on first use."""
    from distmom.numerics import tiles_compiled

    return tiles_compiled


class TileSums(NamedTuple):
    """One tile: the sum of the kernel at each row of its two sides, and the sum of squares.

    On the diagonal of one sample both sides are the same rows: `right` is empty and `left` has their whole
    sums. Of weighted rows, terms at a row are weighted by the other row, squares by both.
    """

    left: Floats
    right: Floats
    squares: float


def tile_numbers(kernel: Kernel, sizes: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """All tiles in the order in which they are added."""
    sides = [-(-n // TILE) for n in sizes]
    for i in range(sides[0]):
        for j in range(i if len(sizes) == 1 else 0, sides[-1]):
            yield i, j


def tile_rows(number: int) -> slice:
    """Rows of a sample that one side of a tile takes."""
    return slice(number * TILE, (number + 1) * TILE)


def pair_tile(
    kernel: Kernel,
    x: Floats,
    y: Floats | None,
    *,
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
    weights : tuple of two ndarrays, optional
        Weights of the rows of both sides.
    compiled : bool, optional
        Use the compiled twin (same bits for kernels of the catalogue). By default for 2**20 pairs or more,
        where the kernel has one; users' compiled functions always.
    """
    same = y is None
    other = x if y is None else y
    left, right = np.zeros(x.shape[0]), np.zeros(other.shape[0])
    inlined = kernel.compiled
    if compiled is None:
        compiled = not isinstance(inlined, tuple) or x.shape[0] * other.shape[0] >= COMPILE
    if inlined is None or not compiled:
        squares = _numpy_pair_sums(kernel, x, other, same, weights, left, right)
    else:
        known = isinstance(inlined, tuple)
        run = _kernels().pair_sums if known else _kernels().uncached_pair_sums
        first = int(isinstance(inlined, tile_types.LABELLED))
        sides = [np.require(rows, np.float64, ["C", "W"]) for rows in (x, other)]
        if same:
            sides[1] = sides[0]
        of_x, of_y = weights if weights is not None else (None, None)
        squares = run(inlined, *sides, first, same, of_x, of_y, STRIP, left, right)
    if same:
        return TileSums(left + right, right[:0], float(squares))
    return TileSums(left, right, float(squares))


class TileFold:
    """Adds tiles in their order to the sums of a whole block.

    Parameters
    ----------
    kernel : Kernel
    sizes : tuple of int
        Rows of each sample.
    weights : tuple of ndarray, optional
        Weights of the rows of each sample.
    """

    def __init__(
        self, kernel: Kernel, sizes: tuple[int, ...], weights: tuple[Floats, ...] | None = None
    ) -> None:
        self._kernel, self._sizes, self._weights = kernel, sizes, weights
        self._rows = [np.zeros(n) for n in sizes]
        self._squares = 0.0
        self._awaited = tile_numbers(kernel, sizes)

    def add(self, i: int, j: int, tile: TileSums) -> None:
        """Add tile (i, j).

        Raises
        ------
        ValueError
            If another tile is the next one.
        """
        if next(self._awaited, None) != (i, j):
            raise ValueError(f"tile ({i}, {j}) is not the next one")
        with np.errstate(invalid="ignore", over="ignore"):
            self._rows[0][tile_rows(i)] += tile.left
            if tile.right.size:
                self._rows[-1][tile_rows(j)] += tile.right
            self._squares += tile.squares

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
        if self._weights is not None:
            return self._weighted_result(self._weights)
        one = len(self._sizes) == 1
        n_pairs = count_tuples(self._kernel.degrees, self._sizes)
        others = [n - 1 for n in self._sizes] if one else list(self._sizes[::-1])
        with np.errstate(invalid="ignore", over="ignore"):
            mean = add_up(self._rows[0]) / (2.0 * n_pairs if one else n_pairs)
            row_means = tuple(rows / n for rows, n in zip(self._rows, others, strict=True))
            return PairSums(n_pairs, mean, self._squares / n_pairs, row_means)

    def _weighted_result(self, weights: tuple[Floats, ...]) -> PairSums:
        """Pairs weigh the product of their rows' weights."""
        one = len(self._sizes) == 1
        others = [np.asarray(add_up(w)) for w in weights[::-1]]
        if one:
            others = [others[0] - weights[0]]
        n_pairs = count_tuples(self._kernel.degrees, tuple(int(np.count_nonzero(w)) for w in weights))
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            whole = add_up(weights[0] * others[0])  # twice the weight of all pairs of one sample
            mean = add_up(weights[0] * self._rows[0]) / whole
            row_means = tuple(rows / total for rows, total in zip(self._rows, others, strict=True))
            return PairSums(n_pairs, mean, (1 + one) * self._squares / whole, row_means)


def tiled_sums(
    kernel: Kernel,
    *samples: Floats,
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
    weights : tuple of ndarray, optional
        Non-negative weights of the rows of each sample.
    compiled : bool, optional
        As in `pair_tile`; the default looks at the whole block.

    Returns
    -------
    PairSums
        With `second` and row means.
    """
    sizes = tuple(sample.shape[0] for sample in samples)
    if compiled is None and np.prod([float(n) for n in (sizes * 2)[:2]]) >= COMPILE:
        compiled = True
    prepared = [kernel.prepare(sample) for sample in samples]
    fold = TileFold(kernel, sizes, weights)
    for i, j in tile_numbers(kernel, sizes):
        same = len(sizes) == 1 and i == j
        sides = tile_rows(i), tile_rows(j)
        tile_weights = None if weights is None else (weights[0][sides[0]], weights[-1][sides[1]])
        y = None if same else prepared[-1][sides[1]]
        fold.add(i, j, pair_tile(kernel, prepared[0][sides[0]], y, weights=tile_weights, compiled=compiled))
    return fold.result()


def _numpy_pair_sums(
    kernel: Kernel,
    x: Floats,
    y: Floats,
    same: bool,
    weights: tuple[Floats, Floats] | None,
    left: Floats,
    right: Floats,
) -> float:
    """Twin of `tiles_compiled.pair_sums`."""
    total = 0.0
    with np.errstate(invalid="ignore", over="ignore"):
        for x0 in range(0, x.shape[0], STRIP):
            strip = x[x0 : x0 + STRIP]
            for y0 in range(x0 if same else 0, y.shape[0], STRIP):
                sums, squares = np.zeros(strip.shape[0]), np.zeros(strip.shape[0])
                for start in range(y0, min(y0 + STRIP, y.shape[0]), _PASSING):
                    stop = min(start + _PASSING, y0 + STRIP, y.shape[0])
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
                    right[start:stop] += _halve(values)
                left[x0 : x0 + STRIP] += sums
                total += float(_halve(squares[None])[0])
    return total


def _add_fours(values: Floats, sums: Floats, squares: Floats) -> None:
    """Add passing rows to the lanes in fours; the last four may be incomplete."""
    short = -values.shape[0] % 4
    if short:
        values = np.concatenate([values, np.zeros((short, values.shape[1]))])
    for a, b, c, d in values.reshape(-1, 4, values.shape[1]):
        sums += (a + b) + (c + d)
        squares += (a * a + b * b) + (c * c + d * d)


def _halve(values: Floats) -> Floats:
    """Sum of each row by adding its upper half to the lower one; `values` are lost."""
    size = values.shape[1]
    while size > 1:
        half = size // 2
        values[:, :half] += values[:, size - half : size]
        size -= half
    return values[:, 0].copy()
