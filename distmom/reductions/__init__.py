"""Declared reductions: a fixed-size, mergeable state, filled by one pass over rows."""

from __future__ import annotations

from typing import Any, Protocol

from distmom.reductions.accumulate.leaves import Rows
from distmom.reductions.state import Key


class Accumulator(Protocol):
    """Takes the rows of one unit of work, file by file, each from first row to last."""

    def start_file(self, number: int, path: str) -> None:
        """Begin file `number` of the unit; `path` keys its draws and names it in errors."""
        return

    def add(self, rows: Rows, n_groups: int) -> None:
        """Add the next rows of the file; `n_groups` groups have been met in the unit so far."""

    def end_file(self) -> None:
        """End the file."""
        return

    def result(self, keys: list[Key]) -> Any:
        """The state of all files; `keys` names the groups in the order of their codes. None without rows."""
        ...


class Reduction(Protocol):
    """The declaration of a statistic; frozen and picklable."""

    def begin(self, n_files: int, window: Any = None) -> Accumulator:
        """An accumulator for a unit of `n_files` files; `window` is what it needs to know about the unit."""
        ...

    def merge(self, left: Any, right: Any) -> Any:
        """The state of both; called in the order of the dyadic tree only."""
        ...


__all__ = ["Accumulator", "Key", "Reduction", "Rows"]
