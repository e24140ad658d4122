"""Rows to learn from: in memory, or gathered from a lake for many steps at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from distmom.memory import Held, Memory
from distmom.numerics.arrays import Bools, Floats, Ints
from distmom.passes.gather import COPIES, RowSource, gather_rows
from distmom.reductions.rows.gather import ABSENT, NAN, NULL, USED
from distmom.stopping import Stopped

if TYPE_CHECKING:
    from collections.abc import Sequence
    from threading import Event

    from distmom.cluster import Progress
    from distmom.cluster.work import SkippedFile

Fates = NDArray[np.uint8]

STEPS_AT_ONCE = 64
"""Fewest steps whose rows are fetched together."""

MOST_GATHERED = 400_000_000
"""Memory for gathering rows of a lake, if more is available than that."""


class Met(NamedTuple):
    """Rows that were met, each once."""

    n_used: int = 0  # with all their values
    n_null: int = 0  # with a value that is null,
    n_nan: int = 0  # and of the others with one that is NaN
    n_dropped: int = 0  # that the filter drops, or whose file was left out
    n_inf: int = 0  # those of the used ones that have an infinite value

    def plus(self, rows: ArrayRows) -> Met:
        """With further rows."""
        counts = np.bincount(rows.fates, minlength=ABSENT + 1).tolist()
        infinite = np.isinf(rows.features).any(axis=1) | np.isinf(rows.targets)
        n_inf = int(np.count_nonzero(infinite & rows.used))
        return self.joined(Met(counts[USED], counts[NULL], counts[NAN], counts[ABSENT], n_inf))

    def joined(self, other: Met) -> Met:
        """With those of another."""
        return Met(*(a + b for a, b in zip(self, other, strict=True)))


class FileRanges(NamedTuple):
    """Which rows are those of which file."""

    names: tuple[str, ...]
    ends: Ints  # rows up to the end of each file

    def of(self, numbers: Ints) -> Ints:
        """Numbers of the files of rows."""
        return np.asarray(np.searchsorted(self.ends, numbers, side="right"), np.int64)


class ArrayRows:
    """Rows in memory, of float64 or float32; by default with targets of zero, and all of them count.

    The fates are those of `distmom.reductions.rows.gather`.
    """

    far = False
    """Whether fetching is slow enough to be worth doing ahead."""

    def __init__(
        self,
        features: NDArray[Any],
        targets: Floats | None = None,
        fates: Fates | None = None,
        files: FileRanges | None = None,
    ) -> None:
        self.files = files
        self.features, self.n_rows = features, int(features.shape[0])
        self.targets = np.zeros(self.n_rows) if targets is None else targets
        self.fates = np.full(self.n_rows, USED, np.uint8) if fates is None else fates

    @property
    def n_features(self) -> int:
        """Features of a row."""
        return int(self.features.shape[1])

    @property
    def used(self) -> Bools:
        """Rows that count: without a missing value, not dropped by the filter, not of a bad file."""
        return np.equal(self.fates, USED)

    def at_once(self, step_rows: int) -> int:
        """Rows to fetch at once, for steps of this size."""
        return STEPS_AT_ONCE * step_rows

    def fetch(self, rows: Ints, stop: Event | None = None) -> ArrayRows:
        """These rows, distinct and in any order."""
        features = self.features[rows].astype(np.float64, copy=False)
        return ArrayRows(features, self.targets[rows], self.fates[rows])

    def part(self, start: int, stop: int | None = None) -> ArrayRows:
        """Some of them."""
        place = slice(start, stop)
        return ArrayRows(self.features[place], self.targets[place], self.fates[place])

    def then(self, more: ArrayRows) -> ArrayRows:
        """These and more."""
        if not self.n_rows:
            return more
        features, targets, fates = (
            np.concatenate([getattr(rows, name) for rows in (self, more)])
            for name in ("features", "targets", "fates")
        )
        return ArrayRows(features, targets, fates)


@dataclass
class Reserve:
    """Rows that are held for fetches to come, by their ascending numbers."""

    numbers: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    rows: ArrayRows | None = None

    def places(self, rows: Ints) -> Ints | None:
        """Where these rows are held, distinct and in any order; None unless all are."""
        if not self.numbers.size:
            return None
        places = np.minimum(np.searchsorted(self.numbers, rows), self.numbers.size - 1)
        return np.asarray(places, np.int64) if bool((self.numbers[places] == rows).all()) else None

    def fetch(self, rows: Ints) -> ArrayRows | None:
        """These rows; where one is not held, none is any longer."""
        places = self.places(rows)
        if self.rows is not None and places is not None:
            return self.rows.fetch(places)
        self.numbers, self.rows = np.zeros(0, np.int64), None
        return None


@dataclass(frozen=True)
class LakeRows:
    """Rows of a lake; those of many steps are gathered in one pass over the files that hold them.

    The last value of a row may be its target. Files that are left out while rows are gathered are added to
    the list.
    """

    source: RowSource
    with_target: bool
    progress: Progress | None = None
    skipped: list[SkippedFile] = field(default_factory=list)
    reserve: Reserve = field(default_factory=Reserve, init=False)  # what has another source has its own
    far: ClassVar[bool] = True

    @property
    def n_rows(self) -> int:  # noqa: D102
        return self.source.n_rows

    @property
    def n_features(self) -> int:  # noqa: D102
        return self.source.n_columns - int(self.with_target)

    @property
    def files(self) -> FileRanges | None:
        """Which rows are those of which file."""
        source = self.source
        return FileRanges(tuple(file.path for file in source.files), np.cumsum(source.rows))

    @property
    def row_bytes(self) -> int:
        """Bytes of a gathered row."""
        return 8 * self.source.n_columns + 9

    def at_once(self, step_rows: int) -> int:  # noqa: D102
        room = min(self.source.executor.memory // 4, MOST_GATHERED) // ((COPIES + 1) * self.row_bytes)
        return max(STEPS_AT_ONCE * step_rows, room)

    def expect(self, parts: Sequence[Ints], step_rows: int) -> None:
        """Gather the rows of coming fetches in one pass; they are held until another row is fetched.

        Rows of many steps and a quarter more take no more memory than the former beside those that are
        gathered meanwhile. Parts beyond that are left to their own fetch.
        """
        room = self.at_once(step_rows) * (COPIES + 1) // COPIES
        ends = np.cumsum([part.size for part in parts])
        few = parts[: int(np.searchsorted(ends, room, side="right"))]
        if len(few) > 1:
            rows = np.sort(np.concatenate(few))  # `np.unique` takes twenty times as long
            rows = rows[np.diff(rows, prepend=-1) > 0]
            if self.reserve.places(rows) is None:
                self.reserve.numbers, self.reserve.rows = rows, self._gathered(rows, None)

    def fetch(self, rows: Ints, stop: Event | None = None) -> ArrayRows:
        """These rows, distinct and in any order; `Stopped` soon after the flag is set."""
        held = self.reserve.fetch(rows)
        if held is not None:
            return held
        order = np.argsort(rows)
        place = np.empty_like(order)
        place[order] = np.arange(order.size)
        return self._gathered(rows[order], None if stop is None else _Until(stop), place)

    def _gathered(self, rows: Ints, progress: Progress | None, place: Any = slice(None)) -> ArrayRows:
        found, skipped = gather_rows(self.source, rows, progress)
        self.skipped.extend(file for file in skipped if file not in self.skipped)
        values, fates = found.values[place], found.fates[place]
        if not self.with_target:
            return ArrayRows(values, None, fates)
        return ArrayRows(values[:, :-1], np.ascontiguousarray(values[:, -1]), fates)

    def memory(self, mode: str) -> Memory:
        """Rows held at once: all of them while they are gathered, or those of many steps."""
        whole = mode == "resident"
        rows, copies = (self.n_rows, COPIES) if whole else (min(self.n_rows, self.at_once(1)), COPIES + 1)
        n_bytes = copies * rows * self.row_bytes
        return Memory((Held("rows", n_bytes, each=False, remedy="use fewer columns, or mode='streaming'"),))

    def mode(self, asked: str) -> tuple[str, str]:
        """Whether rows are held in memory, and why: they may take half of it while they are gathered."""
        needed = f"{self.n_rows:,} rows of {self.row_bytes} bytes"
        fit = COPIES * self.n_rows * self.row_bytes <= self.source.executor.memory // 2
        if asked == "resident" or (asked == "auto" and fit):
            return "resident", f"{needed} fit into memory"
        why = "as asked for" if asked == "streaming" else "as they do not fit into memory"
        return "streaming", f"{needed} are gathered for many steps at a time, {why}"

    def resident(self) -> ArrayRows:
        """All rows, in memory."""
        rows = self._gathered(np.arange(self.n_rows, dtype=np.int64), self.progress)
        return ArrayRows(rows.features, rows.targets, rows.fates, self.files)


TrainingRows = ArrayRows | LakeRows


@dataclass(frozen=True)
class _Until:
    """Progress of a gathering that is not shown, and that a flag ends."""

    flag: Event

    def begin(self, n_units: int, n_bytes: int) -> None:
        self.advance(0, 0)

    def advance(self, n_rows: int, n_bytes: int) -> None:
        if self.flag.is_set():
            raise Stopped

    def end(self) -> None:
        """Nothing was shown."""
