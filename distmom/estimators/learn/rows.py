"""Rows to learn from: in memory, or gathered from a lake for many steps at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from distmom.cluster.stop import Stopped
from distmom.estimators.learn.labels import LabelCoder, sorted_codes
from distmom.estimators.learn.row_counts import INFINITE
from distmom.numerics.arrays import Bools, Floats, Ints
from distmom.passes.gather import COPIES, RowSource, gather_rows
from distmom.reductions.accumulate.leaves import all_of
from distmom.reductions.rows.gather import USED, fates_of

if TYPE_CHECKING:
    from distmom.cluster import Progress
    from distmom.cluster.stop import Flag
    from distmom.cluster.work import SkippedFile
    from distmom.lake import BatchReader, FileRef
    from distmom.lake.keys.keyvalues import Key
    from distmom.reductions.rows.gather import GatheredRows

Fates = NDArray[np.uint8]

STEPS_AT_ONCE = 64
"""Steps whose rows are fetched together, at least."""

MOST_GATHERED = 400_000_000
"""Bytes that gathering rows of a lake may take at once, where there is more memory than that."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """Rows in the order in which they were asked for.

    Attributes
    ----------
    features : ndarray, shape (m, d)
    targets : ndarray, shape (m,)
        Zeros where there are none.
    fates : ndarray of uint8, shape (m,)
        What became of them; see `distmom.reductions.rows.gather`.
    """

    features: Floats
    targets: Floats
    fates: Fates

    @property
    def used(self) -> Bools:
        """Rows that count: not those with a missing value, that the filter drops, or of a bad file."""
        return np.equal(self.fates, USED)

    def fates_in_detail(self) -> Fates:
        """The fates, infinite values told apart."""
        infinite = np.isinf(self.features).any(axis=1) | np.isinf(self.targets)
        return np.where(infinite & self.used, np.uint8(INFINITE), self.fates)


class TrainingRows(Protocol):
    """Rows by number."""

    @property
    def n_rows(self) -> int:
        """Rows in all, those that do not count included."""
        ...

    @property
    def n_features(self) -> int:
        """Features of a row."""
        ...

    @property
    def far(self) -> bool:
        """Whether fetching takes so long that it is worth doing ahead."""
        ...

    def fetch(self, rows: Ints, stop: Flag | None = None) -> Fetched:
        """These rows, distinct and in any order; `Stopped` soon after the flag is set."""
        ...

    def at_once(self, step_rows: int) -> int:
        """Rows to fetch at once for steps of so many."""
        ...


@dataclass(frozen=True)
class ArrayRows:
    """Rows in memory.

    Attributes
    ----------
    features : ndarray of float64 or float32, shape (n, d)
    targets : ndarray of float64, shape (n,), optional
    fates : ndarray of uint8, optional
        All of them count by default.
    """

    features: NDArray[Any]
    targets: Floats | None = None
    fates: Fates | None = None
    far: bool = False

    @property
    def n_rows(self) -> int:  # noqa: D102
        return int(self.features.shape[0])

    @property
    def n_features(self) -> int:  # noqa: D102
        return int(self.features.shape[1])

    def at_once(self, step_rows: int) -> int:  # noqa: D102
        return STEPS_AT_ONCE * step_rows

    def fetch(self, rows: Ints, stop: Flag | None = None) -> Fetched:  # noqa: D102
        features = self.features[rows].astype(np.float64, copy=False)
        targets = np.zeros(rows.size) if self.targets is None else self.targets[rows]
        fates = np.full(rows.size, USED, np.uint8) if self.fates is None else self.fates[rows]
        return Fetched(features, targets, fates)


@dataclass(frozen=True)
class LakeRows:
    """Rows of a lake, of which those of many steps are gathered in one pass over the files that hold them.

    Attributes
    ----------
    source : RowSource
    with_target : bool
        Whether the last value of a row is its target.
    progress : Progress, optional
    skipped : list of SkippedFile
        Files that were left out so far; grows as rows are gathered.
    """

    source: RowSource
    with_target: bool
    progress: Progress | None = None
    skipped: list[SkippedFile] = field(default_factory=list)
    far: bool = True

    @property
    def n_rows(self) -> int:  # noqa: D102
        return self.source.n_rows

    @property
    def n_features(self) -> int:  # noqa: D102
        return self.source.n_columns - int(self.with_target)

    @property
    def row_bytes(self) -> int:
        """Bytes of a gathered row."""
        return 8 * self.source.n_columns + 9

    def at_once(self, step_rows: int) -> int:  # noqa: D102
        room = min(self.source.executor.memory // 4, MOST_GATHERED) // ((COPIES + 1) * self.row_bytes)
        return max(STEPS_AT_ONCE * step_rows, room)

    def fetch(self, rows: Ints, stop: Flag | None = None) -> Fetched:  # noqa: D102
        order = np.argsort(rows)
        found = self._gathered(rows[order], None if stop is None else _Until(stop))
        place = np.empty_like(order)
        place[order] = np.arange(order.size)
        values = found.values[place]
        return self.split(values, found.fates[place])

    def _gathered(self, rows: Ints, progress: Progress | None) -> GatheredRows:
        found, skipped = gather_rows(self.source, rows, progress)
        self.skipped.extend(file for file in skipped if file not in self.skipped)
        return found

    def split(self, values: Floats, fates: Fates) -> Fetched:
        """Features and targets of whole rows."""
        if not self.with_target:
            return Fetched(values, np.zeros(values.shape[0]), fates)
        return Fetched(values[:, :-1], np.ascontiguousarray(values[:, -1]), fates)

    def fits(self) -> bool:
        """Whether all rows can be held in a half of the memory while they are being gathered."""
        return COPIES * self.n_rows * self.row_bytes <= self.source.executor.memory // 2

    def resident(self) -> ArrayRows:
        """All rows, in memory."""
        found = self._gathered(np.arange(self.n_rows, dtype=np.int64), self.progress)
        parts = self.split(found.values, found.fates)
        return ArrayRows(parts.features, parts.targets, parts.fates)


@dataclass(frozen=True)
class _Until:
    """Progress of a gathering that nobody looks at, and that a flag ends."""

    flag: Flag

    def begin(self, n_units: int, n_bytes: int) -> None:
        self.advance(0, 0)

    def advance(self, n_rows: int, n_bytes: int) -> None:
        if self.flag.is_set():
            raise Stopped

    def end(self) -> None:
        """Nothing was shown."""


def read_all(
    reader: BatchReader, files: tuple[FileRef, ...], with_target: bool, nan: str
) -> tuple[ArrayRows, list[Key]]:
    """All rows of a source that is in memory or can be read only once, and its labels if it reads such."""
    values: list[Floats] = []
    fates: list[Fates] = []
    coder = LabelCoder() if reader.options.by else None
    for file in files:
        for batch in reader.batches(file):
            batch = batch if coder is None else coder.coded(batch)
            block = np.stack([np.array(v, np.float64) for v in batch.values], axis=1)
            values.append(block)
            fates.append(fates_of(block, all_of(list(batch.valid)), batch.keep, nan != "keep"))
    width = len(reader.options.value_names) + int(coder is not None)
    whole = np.concatenate(values) if values else np.zeros((0, width))
    every = np.concatenate(fates) if fates else np.zeros(0, np.uint8)
    if not with_target:
        return ArrayRows(whole, None, every), []
    labels: list[Key] = []
    targets = np.ascontiguousarray(whole[:, -1])
    if coder is not None:
        labels, targets = sorted_codes(coder.labels, targets)
    return ArrayRows(whole[:, :-1], targets, every), labels
