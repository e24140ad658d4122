"""Counting the rows that pass the filter: the smallest reduction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from distmom.reductions.accumulate.leaves import Rows
from distmom.reductions.state import Key


@dataclass(frozen=True)
class RowCount:
    """Number of rows for which the filter's condition is true."""

    def begin(self, n_files: int, window: Any = None) -> RowCounter:
        """An accumulator for one unit."""
        return RowCounter()

    def merge(self, left: int, right: int) -> int:
        """Rows of both."""
        return left + right


class RowCounter:
    """The `Accumulator` of `RowCount`."""

    def __init__(self) -> None:
        self._rows = 0

    def start_file(self, number: int, path: str) -> None:
        """Nothing depends on the file."""

    def add(self, rows: Rows, n_groups: int) -> None:
        """Count."""
        self._rows += rows.n_rows if rows.keep is None else int(np.count_nonzero(rows.keep))

    def end_file(self) -> None:
        """Nothing is left open."""

    def result(self, keys: list[Key]) -> int:
        """The number of rows."""
        return self._rows
