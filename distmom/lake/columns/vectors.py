"""List columns as vectors: a row's elements become its values in as many columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
from pyarrow import types as patypes

from distmom.errors import BadFileError, DataError, NoAnswerError
from distmom.lake.columns.convert import Valid, Values, converter, valid_rows
from distmom.lake.columns.schema import SEARCHED_FILES, Reference
from distmom.lake.source import BatchReader, FileRef, ReadOptions
from distmom.numerics.arrays import Bools, Ints

Mask = Bools | None
FEW_VALUES, LEAST_BATCH = 16, 1_024
"""Batches of list columns are shortened where a row has more values, but keep so many rows."""

AnyReader = TypeVar("AnyReader", bound=BatchReader)


class WrongLength(Exception):
    """A vector of another length than the others: its row in the array, and its length."""

    def __init__(self, row: int, length: int) -> None:
        super().__init__(row, length)
        self.row, self.length = row, length


class _Lists(NamedTuple):
    """Where each row's elements lie in the child array; ``child`` starts with those of the first row."""

    start: Ints
    length: Ints
    valid: Valid
    child: pa.Array


def lengths(array: pa.Array) -> tuple[Values, Valid]:
    """Length of each row's list, as a value; and which rows are not null."""
    lists = _lists(array)
    return lists.length.astype(np.float64), lists.valid


def components(array: pa.Array, width: int, keep: Mask) -> list[tuple[Values, Valid]]:
    """Elements of the lists of an array, one column for each place in the list.

    WrongLength if a list that counts has another length.

    Parameters
    ----------
    array : pyarrow.Array
        Fixed-size, small or large lists of numbers; also a slice of one.
    width : int
        Length that all lists must have.
    keep : (n,) bool, optional
        Rows that count; the others may have any length.

    Returns
    -------
    list of (values, valid)
        As `convert.to_float64` gives them, for each place. A null list is null in all places, a null
        element in its own.
    """
    lists = _lists(array)
    there = lists.valid
    wrong = lists.length != width
    if there is not None:
        wrong &= there
    if wrong.any():
        counted = wrong if keep is None else wrong & keep
        if counted.any():
            row = int(np.argmax(counted))
            raise WrongLength(row, int(lists.length[row]))
        there = ~wrong if there is None else there & ~wrong
    values, known = converter(lists.child.type)(lists.child)
    n = len(array)
    if values.size == 0:
        values, known = np.zeros(n * width), None
    elif values.size != n * width or not np.array_equal(lists.start, np.arange(n) * width):
        start = lists.start if there is None else np.where(there, lists.start, 0)
        places = np.minimum(start[:, None] + np.arange(width), values.size - 1)
        values = values[places]
        known = None if known is None else known[places]
    columns = np.ascontiguousarray(values.reshape(n, width).T)
    columns.flags.writeable = False
    if known is None:
        return [(column, there) for column in columns]
    known_columns = np.ascontiguousarray(known.reshape(n, width).T)
    if there is not None:
        known_columns = known_columns & there
    return list(zip(columns, known_columns, strict=True))


def _lists(array: pa.Array) -> _Lists:
    n = len(array)
    valid = valid_rows(array)
    if patypes.is_fixed_size_list(array.type):
        size = array.type.list_size
        # the child of a slice is that of the whole, and has elements for null rows too
        child = array.values.slice(array.offset * size, n * size)
        return _Lists(np.arange(n, dtype=np.int64) * size, np.full(n, size, np.int64), valid, child)
    kind = np.dtype(np.int64 if patypes.is_large_list(array.type) else np.int32)
    buffer = array.buffers()[1]
    if n == 0 or buffer is None:
        none = np.zeros(n, np.int64)
        return _Lists(none, none, valid, array.values.slice(0, 0))
    edges = np.frombuffer(buffer, kind, n + 1, array.offset * kind.itemsize).astype(np.int64)
    child = array.values.slice(int(edges[0]), int(edges[-1] - edges[0]))
    return _Lists(edges[:-1] - edges[0], np.diff(edges), valid, child)


def with_vectors(options: ReadOptions, references: Mapping[str, Reference]) -> ReadOptions:
    """The options with the list columns among those asked for, and their widths where the type has them.

    Options that have list columns already are those of a reader, and stay.
    """
    if options.vectors is None or options.vectors:
        return options
    found = [references[name] for name in options.columns if name in references]
    return replace(options, vectors=tuple((r.column, r.width) for r in found if r.kind == "vector"))


def measured(reader: AnyReader, files: Sequence[FileRef]) -> AnyReader:
    """The reader with the widths of all its list columns: where the type has none, that of the first vector.

    Long lists are read in batches of fewer rows: these take no more memory than those of some columns.

    NoAnswerError if no row of the first thousand files has a vector; DataError if the first one has no
    elements.
    """
    options = reader.options
    if not options.vectors:
        return reader
    widths = tuple((name, width or _first_length(reader, files, name)) for name, width in options.vectors)
    options = replace(options, vectors=widths)
    shorter = options.batch_rows * FEW_VALUES // len(options.value_names)
    options = replace(options, batch_rows=min(options.batch_rows, max(LEAST_BATCH, shorter)))
    return replace(reader, options=options)  # type: ignore[type-var]


def _first_length(reader: BatchReader, files: Sequence[FileRef], name: str) -> int:
    """Length of the first vector of a column that counts; what cannot be read is passed over."""
    options = replace(reader.options, columns=(name,), by=(), vectors=((name, 0),))
    scout: BatchReader = replace(reader, options=options)  # type: ignore[type-var]
    failure: Exception | None = None
    for file in files[:SEARCHED_FILES]:
        try:
            for batch in scout.batches(file):
                there = np.ones(batch.n_rows, np.bool_) if batch.valid[0] is None else batch.valid[0]
                there = there if batch.keep is None else there & batch.keep
                if not there.any():
                    continue
                row = int(np.argmax(there))
                length = int(batch.values[0][row])
                if length == 0:
                    raise DataError(
                        f"{file.path or 'the data'}: column {name!r} has an empty list in row "
                        f"{batch.start + row}: a mean vector needs elements; filter such rows out with where"
                    )
                return length
        except (BadFileError, OSError) as error:
            failure = failure or error
    if failure is not None:
        raise failure
    many = f"the first {SEARCHED_FILES:,} files" if len(files) > SEARCHED_FILES else "the data"
    raise NoAnswerError(
        f"column {name!r}: no row of {many} has a vector that counts (all are null, or the filter drops them)"
    )
