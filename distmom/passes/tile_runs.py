"""Tiles of pairs as units of work: the pairs of one large block are spread over all threads or workers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import add
from typing import ClassVar

from distmom.cluster import Executor, Progress, Unit, UnitMerger, UnitOutcome, run_units
from distmom.numerics.arrays import Floats
from distmom.numerics.kernels.evaluate import one_by_one
from distmom.numerics.kernels.kernel import Kernel, Weights
from distmom.numerics.kernels.sums import PairSums
from distmom.numerics.pairs.tiles import (
    Sides,
    TileFold,
    TileSums,
    is_compiled,
    pair_tile,
    tile_numbers,
    tile_side,
    tile_sides,
)
from distmom.reductions.rows.block_kernel import BlockKernel

WAVE, TILES_PER_THREAD = 64, 8
"""Tiles in progress at the same time: in total, or per thread. Their sums, at most half a megabyte each, are
kept until they are added in order."""

BLOCKS_PER_THREAD = 4
"""With this many blocks every thread has enough to do, and blocks need not be cut."""


Tiles = tuple[TileSums, ...]
"""Sums of some tiles, in order."""


@dataclass(frozen=True)
class TileWork:
    """Callable on a `Unit` whose window has the `Sides` of a tile; picklable."""

    kernel: Kernel
    rows: bool
    compiled: bool
    step: ClassVar[str] = "pairs"

    def __call__(self, unit: Unit) -> UnitOutcome:
        """The sums of the tile."""
        x, y, weights = unit.window
        how = {"rows": self.rows, "compiled": self.compiled}
        return UnitOutcome((pair_tile(self.kernel, x, y, weights=weights, **how),))


@dataclass(frozen=True)
class TileRunner:
    """Like `tiled_sums`, bit for bit, on the threads or workers of an executor.

    Memory here: the block, one sum per row, and the sums of the tiles in progress; on a worker, two sides of
    a tile.
    """

    executor: Executor
    progress: Progress | None = None

    def __call__(
        self, kernel: Kernel, *samples: Floats, rows: bool = True, weights: Weights = None
    ) -> PairSums:
        """The complete U-statistic of a block, with its tiles added in order."""
        sizes = tuple(sample.shape[0] for sample in samples)
        compiled = is_compiled(kernel, None, float(sizes[0]) * float(sizes[-1]))
        prepared = [kernel.prepare(sample) for sample in samples]
        fold = TileFold(kernel, sizes, rows=rows, weights=weights)
        numbers = list(tile_numbers(sizes))
        work = TileWork(kernel, rows, compiled)
        step = max(WAVE, TILES_PER_THREAD * self.executor.threads)
        for start in range(0, len(numbers), step):
            wave = numbers[start : start + step]
            units = [_unit(k, tile_sides(prepared, weights, *tile)) for k, tile in enumerate(wave)]
            merger: UnitMerger[Tiles] = UnitMerger(len(units), add)
            found: Tiles = run_units(
                work, units, add, self.executor, progress=self.progress, merger=merger
            ).state
            for tile, sums in zip(wave, found, strict=True):
                fold.add(*tile, sums)
        return fold.result()


def _unit(number: int, sides: Sides) -> Unit:
    n_bytes = sides.x.nbytes + (0 if sides.y is None else sides.y.nbytes)
    return Unit(number, 0, number, (), n_bytes=n_bytes, window=sides)


def cuts_blocks(kernel: object, n_columns: int, largest: int, n_blocks: int, executor: Executor) -> bool:
    """Whether blocks are sent out tile by tile: they are few, have several tiles, and all pairs are used.

    Rows have `n_columns` values, including the weight; `largest` is the largest sample of all blocks.
    """
    if not isinstance(kernel, BlockKernel) or largest <= 2 * tile_side((largest,)):
        return False
    if executor.threads == 1 or n_blocks >= BLOCKS_PER_THREAD * executor.threads:
        return False
    slow = one_by_one(kernel.kernel, n_columns - kernel.weighted, weighted=kernel.weighted)
    return any(sum(part.kernel.degrees) == 2 for part in slow)


def by_tiles(kernel: BlockKernel, executor: Executor, progress: Progress | None = None) -> BlockKernel:
    """The same kernel, with the tiles of a block sent to the executor."""
    return replace(kernel, tiles=TileRunner(executor, progress))
