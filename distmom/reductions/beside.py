"""Two reductions in one pass over rows, each of its own columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from distmom.numerics.arrays import Record
from distmom.reductions import Accumulator, Key, Reduction
from distmom.reductions.accumulate.leaves import Rows

Places = tuple[int, ...]


@dataclass(frozen=True)
class BothStates(Record):
    """The states of the two reductions."""

    first: Any
    second: Any


@dataclass(frozen=True)
class Beside:
    """Two reductions of the same rows, without groups; `places` are the places of their columns in a row."""

    first: Reduction
    second: Reduction
    places: tuple[Places, Places]

    def begin(self, n_files: int, window: Any = None) -> BesideKeeper:
        """An accumulator for a unit of `n_files` files; the window is that of the first reduction."""
        return BesideKeeper(self.first.begin(n_files, window), self.second.begin(n_files), self.places)

    def merge(self, left: BothStates, right: BothStates) -> BothStates:
        """The states of both; `left` has the rows that come first in the lake."""
        return BothStates(
            self.first.merge(left.first, right.first), self.second.merge(left.second, right.second)
        )


class BesideKeeper:
    """The `Accumulator` of `Beside`: passes the rows on to those of the two reductions."""

    def __init__(self, first: Accumulator, second: Accumulator, places: tuple[Places, Places]) -> None:
        self._both = ((first, places[0]), (second, places[1]))

    def start_file(self, number: int, path: str) -> None:
        """Begin a file."""
        for one, _ in self._both:
            one.start_file(number, path)

    def add(self, rows: Rows, n_groups: int) -> None:
        """Add rows of the file."""
        for one, places in self._both:
            one.add(_of_columns(rows, places), n_groups)

    def end_file(self) -> None:
        """End the file."""
        for one, _ in self._both:
            one.end_file()

    def result(self, keys: list[Key]) -> BothStates | None:
        """The states of all files; None without rows."""
        first, second = (one.result(keys) for one, _ in self._both)
        return None if first is None or second is None else BothStates(first, second)


def _of_columns(rows: Rows, places: Places) -> Rows:
    return replace(
        rows, values=tuple(rows.values[i] for i in places), valid=tuple(rows.valid[i] for i in places)
    )
