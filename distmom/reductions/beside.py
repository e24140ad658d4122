"""Two reductions in one pass over rows, each of its own columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from distmom.numerics.arrays import Record
from distmom.reductions import Accumulator, Key, Reduction
from distmom.reductions.accumulate.leaves import LeafCutter, Rows, shared_leaves

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
        both = self.first.begin(n_files, window), self.second.begin(n_files)
        whole = all(getattr(one, "leafwise", False) for one in (self.first, self.second))
        return BesideKeeper(*both, self.places, whole=whole)

    def merge(self, left: BothStates, right: BothStates) -> BothStates:
        """The states of both; `left` has the rows that come first in the lake."""
        return BothStates(
            self.first.merge(left.first, right.first), self.second.merge(left.second, right.second)
        )


class BesideKeeper:
    """The `Accumulator` of `Beside`: passes the rows on to those of the two reductions.

    Where both take `whole` leaves, they get the same ones, and compute what they have in common once.
    """

    def __init__(
        self, first: Accumulator, second: Accumulator, places: tuple[Places, Places], *, whole: bool
    ) -> None:
        self._both = ((first, places[0]), (second, places[1]))
        self._cutter = LeafCutter() if whole else None

    def start_file(self, number: int, path: str) -> None:
        """Begin a file."""
        for one, _ in self._both:
            one.start_file(number, path)

    def add(self, rows: Rows, n_groups: int) -> None:
        """Add rows of the file."""
        for part in [rows] if self._cutter is None else shared_leaves(self._cutter.add(rows)):
            self._pass_on(part, n_groups)

    def _pass_on(self, rows: Rows, n_groups: int) -> None:
        for one, places in self._both:
            one.add(_of_columns(rows, places), n_groups)

    def end_file(self) -> None:
        """End the file."""
        for leaf in [] if self._cutter is None else shared_leaves(self._cutter.flush()):
            self._pass_on(leaf, 1)
        for one, _ in self._both:
            one.end_file()

    def result(self, keys: list[Key]) -> BothStates | None:
        """The states of all files; None without rows."""
        first, second = (one.result(keys) for one, _ in self._both)
        return None if first is None or second is None else BothStates(first, second)


def _of_columns(rows: Rows, places: Places) -> Rows:
    values, valid = tuple(rows.values[i] for i in places), tuple(rows.valid[i] for i in places)
    return replace(rows, values=values, valid=valid, rest=tuple(rows.rest[i] for i in places if rows.rest))
