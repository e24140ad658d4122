"""Rows that blocks draw by their numbers: which they are, in which passes they are gathered."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from distmom.cluster import Progress
from distmom.errors import ConfigError, NoAnswerError
from distmom.numerics.arrays import Ints
from distmom.numerics.random.philox import Key
from distmom.numerics.random.tuple_draws import sample_tuples
from distmom.numerics.samples.row_samples import RowSamples
from distmom.numerics.samples.wanted_rows import distinct
from distmom.passes.gather import COPIES, ROW_BYTES, RowSource, gather_rows
from distmom.reductions.rows.gather import GatheredRows

Numbers: TypeAlias = "Sequence[Ints] | Ints"
"""Numbers of the rows of some blocks, block after block."""

MOST_ROWS = 10_000_000
"""Rows drawn for blocks that are gathered together; more take another pass over the files that hold them."""


class Drawn(NamedTuple):
    """The rows of one lake that some blocks have drawn."""

    numbers: Numbers  # of the rows of each block
    wanted: Ints  # the distinct ones, ascending
    rows: GatheredRows  # in their order

    def places(self) -> list[NDArray[np.intp]]:
        """Where the rows of each block stand among those gathered."""
        return [places_of(block, self.wanted) for block in self.numbers]


@dataclass(frozen=True)
class DrawPlan:
    """Blocks whose rows are drawn from one or several lakes; known before a row is read.

    Attributes
    ----------
    draw : callable
        ``draw(first, n_blocks)``: numbers of the rows of consecutive blocks, for each lake.
    """

    n_rows: tuple[int, ...]  # of each lake
    n_blocks: int
    sizes: tuple[int, ...]  # rows of each lake that a block takes
    draw: Callable[[int, int], Sequence[Numbers]]

    @property
    def rows_drawn(self) -> int:
        """Rows of all blocks, those that are drawn again included."""
        return self.n_blocks * sum(self.sizes)

    @property
    def blocks_at_once(self) -> int:
        """Blocks whose rows are gathered together."""
        return max(1, MOST_ROWS // sum(self.sizes))

    def columns_at_once(self) -> int:
        """Separate columns that may be gathered together: no more values than of one column."""
        held = min(self.n_blocks, self.blocks_at_once) * sum(self.sizes)
        return max(1, MOST_ROWS // max(1, min(sum(self.n_rows), held)))

    @property
    def passes(self) -> int:
        """How often the files that hold the rows are read."""
        return -(-self.n_blocks // self.blocks_at_once)

    def memory(self, n_columns: int) -> int:
        """Bytes in which the rows of a pass are gathered."""
        held = min(sum(self.n_rows), self.rows_drawn, max(MOST_ROWS, sum(self.sizes)))
        return COPIES * (8 * n_columns + ROW_BYTES) * held

    def gathered(
        self, sources: Sequence[RowSource], progress: Progress | None = None
    ) -> Iterator[list[Drawn]]:
        """The rows of all blocks, in passes over the files that hold them; of each lake.

        Of a file that may be left out rows are absent.
        """
        for first in range(0, self.n_blocks, self.blocks_at_once):
            found = []
            for source, numbers in zip(
                sources, self.draw(first, min(self.blocks_at_once, self.n_blocks - first)), strict=True
            ):
                whole = numbers if isinstance(numbers, np.ndarray) else np.concatenate(numbers)
                wanted = distinct(whole)
                found.append(Drawn(numbers, wanted, gather_rows(source, wanted, progress)[0]))
            yield found


def draw_rows(
    file_rows: Sequence[Ints],
    seeds: Sequence[int],
    n_blocks: int,
    sizes: Sequence[int],
    *,
    replace: bool = False,
    compiled: bool = True,
) -> DrawPlan:
    """Samples of rows, of each lake independently, as the sampled mean has them.

    Of each lake there are the rows of its files, 128 bits of a seed, and the rows of a sample as drawn: those
    that do not count are left out afterwards. With replacement a row that is drawn twice stands in the block
    twice. ConfigError if a block has more rows than a lake, without replacement; NoAnswerError if a lake has
    none.
    """
    n_rows = tuple(int(rows.sum()) for rows in file_rows)
    for n, size in zip(n_rows, sizes, strict=True):
        if n == 0:
            raise NoAnswerError("the data has no rows; give data with rows")
        if not replace and size > n:
            raise ConfigError(
                f"blocks: size: {size:,} rows without replacement from {n:,} cannot be drawn; "
                f"use at most {n:,}"
            )
    each = [
        RowSamples(seed, rows, size, replace, compiled)
        for seed, rows, size in zip(seeds, file_rows, sizes, strict=True)
    ]
    return DrawPlan(n_rows, n_blocks, tuple(sizes), lambda *blocks: [one.numbers(*blocks) for one in each])


def draw_tuples(
    key: Key,
    n_rows: tuple[int, ...],
    degrees: tuple[int, ...],
    n_blocks: int,
    n_tuples: int,
    *,
    replace: bool = False,
) -> DrawPlan:
    """Samples of tuples of rows of all lakes: of each the first rows of all tuples, then the second ones.

    They come from the stream of `key`. A tuple has so many rows of each lake as `degrees` say; with `replace`
    tuples may repeat in a sample.
    """
    starts = np.cumsum((0, *degrees)).tolist()

    def draw(first: int, n: int) -> list[list[Ints]]:
        found: list[list[Ints]] = [[] for _ in degrees]
        for block in range(first, first + n):
            sides = sample_tuples(key, block, n_rows, degrees, n_tuples, replace=replace)
            for of_lake, (low, high) in zip(found, pairwise(starts), strict=True):
                of_lake.append(np.concatenate(sides[low:high]))
        return found

    return DrawPlan(n_rows, n_blocks, tuple(degree * n_tuples for degree in degrees), draw)


def places_of(numbers: Ints, wanted: Ints) -> NDArray[np.intp]:
    """Where numbers stand in an ascending list that holds them all; sorted first, which finds them faster."""
    if (numbers[1:] >= numbers[:-1]).all():
        return np.searchsorted(wanted, numbers)
    order = np.argsort(numbers, kind="stable")
    places = np.empty(numbers.size, np.intp)
    places[order] = np.searchsorted(wanted, numbers[order])
    return places
