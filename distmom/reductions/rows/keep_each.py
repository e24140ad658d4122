"""Keeping the rows of several sets of blocks at once: of several columns, or of several partitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from distmom.numerics.arrays import Ints
from distmom.reductions import Accumulator
from distmom.reductions.accumulate.leaves import Rows
from distmom.reductions.rows.keep_rows import KeepRows, RowKeeper
from distmom.reductions.state import Key


@dataclass(frozen=True)
class KeepEach:
    """Several `KeepRows` of rows that are read once; the window of a unit has a `BlockRange` for each.

    Attributes
    ----------
    parts : tuple of KeepRows
    places : tuple of tuple of int
        Which of the columns that are read are those of each part.
    """

    parts: tuple[KeepRows, ...]
    places: tuple[tuple[int, ...], ...]

    def begin(self, n_files: int, window: Any = None) -> EachKeeper:
        """An accumulator for the ranges of `window`."""
        return EachKeeper(
            self, [one.begin(n_files, mine) for one, mine in zip(self.parts, window, strict=True)]
        )

    def merge(self, left: Any, right: Any) -> Any:
        """Not defined: rows do not leave their unit of work."""
        raise NotImplementedError("kept rows are used where they are")


class EachKeeper(Accumulator):
    """The `Accumulator` of `KeepEach`."""

    def __init__(self, spec: KeepEach, keepers: Sequence[RowKeeper]) -> None:
        self._spec = spec
        self._keepers = keepers

    def start_file(self, number: int, path: str) -> None:  # noqa: D102
        for keeper in self._keepers:
            keeper.start_file(number, path)

    def add(self, rows: Rows, n_groups: int) -> None:  # noqa: D102
        known: dict[Any, Ints] = {}  # columns of one partition share their labels
        for part, places, keeper in zip(self._spec.parts, self._spec.places, self._keepers, strict=True):
            partition = part.seed, part.layout, part.n_cells
            if partition not in known:
                known[partition] = keeper.labels(rows)
            keeper.put(_columns(rows, places), known[partition])

    def result(self, keys: list[Key]) -> tuple[Any, ...]:
        """The rows of each part, or where they went."""
        return tuple(keeper.result(keys) for keeper in self._keepers)


def _columns(rows: Rows, places: tuple[int, ...]) -> Rows:
    if places == tuple(range(len(rows.values))):
        return rows
    values = tuple(rows.values[place] for place in places)
    return replace(rows, values=values, valid=tuple(rows.valid[place] for place in places))
