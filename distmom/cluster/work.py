"""The work of one unit: read its files and pass the rows to a reduction."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from distmom.cluster.outcome import UnitOutcome, Work
from distmom.cluster.plan import Unit
from distmom.errors import BadFileError
from distmom.lake import Batch, BatchReader, FileRef
from distmom.lake.keys.encoder import KeyEncoder
from distmom.lake.keys.key_hashes import KeyHashes
from distmom.lake.keys.ranges import RangeEncoder
from distmom.lake.keys.unit_hashes import UnitHashes
from distmom.numerics.hash_ranges import HashRange
from distmom.reductions import Accumulator, Key, Reduction
from distmom.reductions.accumulate.leaves import Rows
from distmom.stopping import check_stopped

BadFilePolicy = Literal["error", "skip"]


class SkippedFile(NamedTuple):
    """Record of a skipped file."""

    file: str
    reason: str


@dataclass(frozen=True)
class ReadAndReduce:
    """Callable on a `Unit`, on any thread or worker; picklable.

    Attributes
    ----------
    n_keys : int
        Number of `by` columns that the reader delivers; 0 without groups.
    unit_seed : int, optional
        128 bits that key the hashes of units, if the reader delivers their columns, or of keys.
    compiled : bool
        Use compiled kernels for these hashes, and to number the groups.
    some_rows : bool
        The reduction's accumulators list the rows they need: read only what contains some of them.
    known : tuple of Key
        Keys of groups that have the first numbers in every unit.
    within : HashRange, optional
        Only groups with these keys are distinguished, as many as fit: the reduction works on ranges, like
        `RangedMeans`. Keys are hashed under `unit_seed`.
    """

    reader: BatchReader
    reduction: Reduction
    n_keys: int = 0
    on_bad_file: BadFilePolicy = "error"
    unit_seed: int | None = None
    compiled: bool = False
    some_rows: bool = False
    known: tuple[Key, ...] = ()
    within: HashRange | None = None
    step: ClassVar[str] = "read"

    def __call__(self, unit: Unit) -> UnitOutcome:
        """Read the unit's files and return the state of its rows."""
        bad: dict[int, str] = {}
        outcome = None
        while outcome is None:  # rows of a bad file are already in the sums: restart the unit without it
            outcome = self._attempt(unit, bad)
        return outcome

    def _attempt(self, unit: Unit, bad: dict[int, str]) -> UnitOutcome | None:
        """The outcome without the files of these numbers; None if another is bad, which is then added."""
        accumulator = self.reduction.begin(len(unit.files), unit.window)
        encoder: KeyEncoder | RangeEncoder | None = None
        if self.n_keys:
            encoder = KeyEncoder(self.n_keys, self.known, compiled=self.compiled)
            if self.within is not None:
                key_hashes = KeyHashes(
                    self.n_keys, self.unit_seed or 0, compiled=self.compiled, numbers=encoder.numbers
                )
                encoder = RangeEncoder(encoder, key_hashes, self.within, len(self.known))
        hashes = None
        if self.unit_seed is not None and self.reader.options.units:
            hashes = UnitHashes(len(self.reader.options.units), self.unit_seed, compiled=self.compiled)
        n_rows = n_bytes = 0
        for number, file in enumerate(unit.files):
            accumulator.start_file(number, file.path)
            if number not in bad:
                try:
                    rows, size = self._read(file, unit, accumulator, encoder, hashes)
                except BadFileError as error:
                    if self.on_bad_file != "skip":
                        raise
                    bad[number] = str(error)
                    return None
                n_rows, n_bytes = n_rows + rows, n_bytes + size
            accumulator.end_file()
        skipped = tuple(SkippedFile(unit.files[i].path, bad[i]) for i in sorted(bad))
        return UnitOutcome(self._state(accumulator, encoder), n_rows, n_bytes, skipped)

    def _state(self, accumulator: Accumulator, encoder: KeyEncoder | RangeEncoder | None) -> Any:
        if not isinstance(encoder, RangeEncoder):
            return accumulator.result([()] if encoder is None else encoder.keys)
        reduction: Any = self.reduction
        return reduction.of_range(accumulator, encoder)

    def _read(
        self,
        file: FileRef,
        unit: Unit,
        accumulator: Any,
        encoder: KeyEncoder | RangeEncoder | None,
        hashes: UnitHashes | None,
    ) -> tuple[int, int]:
        n_rows = n_bytes = 0
        for batch in self._batches(file, unit, accumulator):
            check_stopped()
            codes = groups = None
            if isinstance(encoder, RangeEncoder):
                codes, words = encoder.encode(batch.keys, batch.keep)
                groups = words.view(np.int64)
            elif encoder is not None:
                codes = encoder.encode(batch.keys, batch.keep)
            units = None if hashes is None else hashes.of(batch.units)
            rows = rows_of(batch, codes, units)
            rows.groups = groups
            accumulator.add(rows, 1 if encoder is None else encoder.n_keys)
            if isinstance(encoder, RangeEncoder):
                accumulator.fit(encoder)
            n_rows, n_bytes = n_rows + batch.n_rows, n_bytes + batch.n_bytes
            del batch, rows  # the next one is decoded meanwhile
        return n_rows, n_bytes

    def _batches(self, file: FileRef, unit: Unit, accumulator: Any) -> Iterable[Batch]:
        if not self.some_rows:
            return self.reader.batches(file, *(unit.rows or (0, None)))
        rows = accumulator.wanted
        return self.reader.batches_holding(file, rows) if rows.size else ()


def rows_of(batch: Batch, codes: Any, units: Any = None) -> Rows:
    """A batch in the form for reductions, with the codes of its groups (None without groups).

    Also the hashes of its units, if whole units are blocks. Columns of which only nulls are counted have a
    validity after those of the values.
    """
    valid = (*batch.valid, *batch.present) if batch.present else batch.valid
    return Rows(batch.start, batch.n_rows, batch.values, valid, batch.keep, codes, units)


class Way(NamedTuple):
    """The work of some units: read every sample, and compute a state from the results of reading.

    Attributes
    ----------
    reads : tuple of callable
        One per sample, such as `ReadAndReduce`.
    finish : callable
        Takes the results of reading and returns the state; picklable. Calls ``between`` now and then, which
        raises if the run is cancelled.
    """

    reads: tuple[Work, ...]
    finish: Callable[..., Any]


@dataclass(frozen=True)
class ReadSamples:
    """Callable on a `Unit` whose window is the number of a way and a unit for each sample; picklable."""

    ways: tuple[Way, ...]
    step: ClassVar[str] = "blocks"

    def __call__(self, unit: Unit) -> UnitOutcome:
        """Read the rows of every sample and return the state."""
        number, parts = unit.window
        reads, finish = self.ways[number]
        read = [one(part) for one, part in zip(reads, parts, strict=True)]
        state = finish(*(outcome.state for outcome in read), between=check_stopped)
        n_rows, n_bytes = sum(outcome.n_rows for outcome in read), sum(outcome.n_bytes for outcome in read)
        return UnitOutcome(state, n_rows, n_bytes, tuple(s for outcome in read for s in outcome.skipped))


def sample_unit(number: int, parts: tuple[Unit, ...], way: int = 0) -> Unit:
    """Unit `number` of a run in which each unit reads all files of every sample.

    The runner merges the states of such units by number, as if each were one file.
    """
    n_bytes = sum(part.n_bytes for part in parts)
    return Unit(number, 0, number, parts[0].files[:1], n_bytes=n_bytes, window=(way, parts))
