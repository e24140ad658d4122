"""Losses as columns: a source with the losses of candidates besides the stored columns.

Every statistic of a column can then be computed for a loss: its mean, files that differ, outlying rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from distmom.lake import Batch, BatchReader, FileRef, ReadOptions, Source
from distmom.lake.extent import Extent
from distmom.lake.filters import Filter
from distmom.lake.within import Bound, Within
from distmom.numerics.arrays import Bools, Floats, Ints
from distmom.numerics.blocks.leaf import LEAF_ROWS
from distmom.numerics.losses.cell_sums import row_losses
from distmom.passes.opening import BATCH_ROWS_OF_MANY, MANY_COLUMNS
from distmom.reductions.losses.candidates import Candidate, RowLoss

COMMON = 32
"""The common loss is the minimum over at most this many candidates."""

BATCH_BYTES, LEAST_BATCH_ROWS = 40_000_000, 8_192
"""Bytes of a batch, if it has more rows than these."""


@dataclass(frozen=True)
class Losses:
    """The losses of candidates, by the names of their columns.

    Attributes
    ----------
    candidates : dict of str to Candidate
    common : str
        Name of one more column: the smallest loss, which is large only in rows that no candidate predicts.
    loss : RowLoss
    columns : tuple of str
        The columns to which the candidates' places refer, the target first.
    compiled : bool
        Use compiled kernels (bit-for-bit identical).
    """

    candidates: dict[str, Candidate]
    common: str
    loss: RowLoss
    columns: tuple[str, ...]
    compiled: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns."""
        return (*self.candidates, self.common)

    def behind(self, name: str) -> list[Candidate]:
        """The candidates that a column needs."""
        every = list(self.candidates.values())
        return every[:COMMON] if name == self.common else [self.candidates[name]]

    def needed(self, names: Collection[str]) -> tuple[str, ...]:
        """Stored columns that some columns of losses need."""
        places = sorted({place for name in names for one in self.behind(name) for place in one.places})
        return tuple(self.columns[place] for place in (0, *(p for p in places if p))) if names else ()

    def computed(self, names: Collection[str]) -> bool:
        """Whether a candidate is a function or model, which is applied to whole leaves."""
        return any(one.computed for name in names for one in self.behind(name))

    def of(self, names: Collection[str], rows: Any, path: str) -> tuple[dict[str, Floats], Bools]:
        """Some losses in some rows, infinite if not finite, and a mask of the rows that have a loss."""
        truth, valid = rows.values[0], rows.valid[0]
        some = ~np.isnan(truth) if valid is None else valid & ~np.isnan(truth)
        counted = some if rows.keep is None else some & rows.keep
        truth = np.where(counted, truth, 0.0)
        found: dict[str, Floats] = {}
        named = self.loss.compiled if self.compiled else None

        def loss(one: Candidate) -> Floats:
            if one.name not in found:
                with np.errstate(over="ignore", invalid="ignore"):
                    predicted = one.predict(rows, path, counted)
                found[one.name] = row_losses(truth, predicted, self.loss, named)
            return found[one.name]

        told = {name: loss(self.candidates[name]) for name in names if name != self.common}
        if self.common in names:
            least = np.full(rows.n_rows, np.inf)
            for one in self.behind(self.common):
                np.minimum(least, loss(one), out=least)
            told[self.common] = least
        return told, some


@dataclass(frozen=True)
class LossSource(Source):
    """A source with the columns of another source, and losses.

    Attributes
    ----------
    of : Source
    losses : Losses
    files : tuple of FileRef
        Files of the other source that are read.
    """

    of: Any
    losses: Losses
    files: tuple[FileRef, ...]

    @property
    def in_memory(self) -> bool:  # type: ignore[override]
        """As the other source."""
        return bool(self.of.in_memory)

    @property
    def one_pass(self) -> bool:  # type: ignore[override]
        """As the other source."""
        return bool(self.of.one_pass)

    @property
    def partition_names(self) -> tuple[str, ...]:  # noqa: D102
        return tuple(self.of.partition_names)

    @property
    def _stored(self) -> Any:
        return replace(self.of, files=self.files)

    def schema(self) -> pa.Schema:
        """The columns of the other source, and the losses."""
        found = self._stored.schema()
        return pa.schema([*found, *(pa.field(name, pa.float64()) for name in self.losses.names)])

    def row_counts(self, files: Sequence[FileRef] | None = None) -> Ints:
        """Rows of each file."""
        counts: Ints = self._stored.row_counts(self.files if files is None else files)
        return counts

    def column_share(self, names: Collection[str]) -> float:
        """Share of a file's bytes that is read for some columns."""
        measure = getattr(self._stored, "column_share", None)
        return 1.0 if measure is None else float(measure(self._behind(names)))

    def extent(self, names: Collection[str]) -> Extent | None:
        """How large the largest file is."""
        found: Extent | None = self._stored.extent(self._behind(names))
        return found

    def _behind(self, names: Collection[str]) -> tuple[str, ...]:
        """Stored columns that are read for some columns."""
        mine = set(names).intersection(self.losses.names)
        return tuple(dict.fromkeys([*(n for n in names if n not in mine), *self.losses.needed(mine)]))

    def reader(self, options: ReadOptions) -> BatchReader:
        """A reader of these columns; that of the other source if none of them is a loss."""
        bounds, where = _split(options.where, self.losses.names)
        mine = {name for name in options.columns if name in self.losses.names}
        mine |= {name for name, _, _ in bounds}
        stored = tuple(name for name in options.columns if name not in mine)
        columns = tuple(dict.fromkeys((*stored, *self.losses.needed(mine))))
        most = options.batch_rows
        if mine:
            most = min(most, batch_rows_of_losses(len(columns)))
        inner = self._stored.reader(replace(options, columns=columns, where=where, batch_rows=most))
        if not mine:
            return inner  # type: ignore[no-any-return]
        times = tuple(one for one in inner.options.times if one[0] in stored)
        names = tuple(name for name in self.losses.names if name in mine)
        return LossReader(inner, replace(options, times=times), self.losses, bounds, names)


@dataclass(frozen=True)
class LossReader(BatchReader):
    """Reads columns and losses.

    Attributes
    ----------
    bounds : tuple of (name, low, high)
        Bounds on losses; only rows within them count.
    names : tuple of str
        Names of the losses that are computed.
    """

    inner: BatchReader
    options: ReadOptions
    losses: Losses
    bounds: tuple[Bound, ...]
    names: tuple[str, ...]

    def excludes(self, file: FileRef) -> bool:
        """Whether the filter drops every row of the file, judged by its partition values."""
        return self.inner.excludes(file)

    def batches(self, file: FileRef, start: int = 0, stop: int | None = None) -> Iterator[Batch]:
        """Batches of the rows ``[start, stop)`` of a file, in order."""
        found = self.inner.batches(file, start, stop)
        for batch in whole_leaves(found) if self.losses.computed(self.names) else found:
            yield self._with_losses(batch, file.path)

    def _with_losses(self, batch: Batch, path: str) -> Batch:
        read = self.inner.options.value_names
        place = {name: i for i, name in enumerate(read)}
        rows = replace(
            batch,
            values=tuple(batch.values[place[c]] if c in place else None for c in self.losses.columns),  # type: ignore[misc]
            valid=tuple(batch.valid[place[c]] if c in place else None for c in self.losses.columns),
        )
        found, some = self.losses.of(self.names, rows, path)
        keep, valid = batch.keep, None if some.all() else some
        if self.bounds:
            gone = None if valid is None else ~valid
            operands = {name: pa.array(found[name], mask=gone) for name, _, _ in self.bounds}
            within = Within(self.bounds).mask(operands, batch.n_rows)
            keep = within if keep is None else keep & within
        asked = self.options.columns
        return replace(
            batch,
            keep=keep,
            values=tuple(found[c] if c in found else batch.values[place[c]] for c in asked),
            valid=tuple(valid if c in found else batch.valid[place[c]] for c in asked),
        )


def batch_rows_of_losses(n_columns: int) -> int:
    """Rows of a batch of so many predictions and features: a leaf, or half of it, and so on."""
    rows = LEAF_ROWS if n_columns <= MANY_COLUMNS else BATCH_ROWS_OF_MANY
    while rows > LEAST_BATCH_ROWS and 8 * n_columns * rows > BATCH_BYTES:
        rows //= 2
    return rows


def _split(where: Filter | None, names: Collection[str]) -> tuple[tuple[Bound, ...], Filter | None]:
    """The bounds of some columns in a condition, and the rest of the condition."""
    if not isinstance(where, Within):
        return (), where
    more, also = _split(where.also, names)
    mine = tuple(bound for bound in where.bounds if bound[0] in names)
    others = tuple(bound for bound in where.bounds if bound[0] not in names)
    return (*mine, *more), Within(others, also) if others else also


def whole_leaves(batches: Iterator[Batch]) -> Iterator[Batch]:
    """The same rows in whole leaves, so that results of functions and models do not depend on batches."""
    held: list[Batch] = []
    for batch in batches:
        start = 0
        while start < batch.n_rows:
            stop = min(batch.n_rows, start + LEAF_ROWS - (batch.start + start) % LEAF_ROWS)
            held.append(_part(batch, start, stop))
            if (batch.start + stop) % LEAF_ROWS == 0:
                yield _joined(held)
                held = []
            start = stop
    if held:
        yield _joined(held)


def _part(batch: Batch, start: int, stop: int) -> Batch:
    if stop - start == batch.n_rows:
        return batch
    cut = slice(start, stop)

    def masks(every: tuple[Bools | None, ...]) -> tuple[Bools | None, ...]:
        return tuple(None if one is None else one[cut] for one in every)

    return Batch(
        batch.start + start,
        stop - start,
        tuple(values[cut] for values in batch.values),
        masks(batch.valid),
        None if batch.keep is None else batch.keep[cut],
        tuple(keys[cut] for keys in batch.keys),
        batch.n_bytes if stop == batch.n_rows else 0,
        tuple(units[cut] for units in batch.units),
        masks(batch.present),
    )


def _joined(held: list[Batch]) -> Batch:
    if len(held) == 1:
        return held[0]

    def masks(name: str) -> tuple[Bools | None, ...]:
        columns = zip(*(getattr(one, name) for one in held), strict=True)
        return tuple(_mask(list(column)) for column in columns)

    def _mask(parts: list[Bools | None]) -> Bools | None:
        if all(part is None for part in parts):
            return None
        filled = zip(parts, held, strict=True)
        return np.concatenate([np.ones(one.n_rows, np.bool_) if p is None else p for p, one in filled])

    def arrays(name: str) -> tuple[pa.Array, ...]:
        columns = zip(*(getattr(one, name) for one in held), strict=True)
        return tuple(pa.chunked_array(list(c)).unify_dictionaries().combine_chunks() for c in columns)

    return Batch(
        held[0].start,
        sum(one.n_rows for one in held),
        tuple(map(np.concatenate, zip(*(one.values for one in held), strict=True))),
        masks("valid"),
        _mask([one.keep for one in held]),
        arrays("keys"),
        sum(one.n_bytes for one in held),
        arrays("units"),
        masks("present"),
    )
