"""List columns as vectors: a row's elements become its values in as many columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from distmom.errors import BadFileError, DataError, NoAnswerError
from distmom.lake.columns.convert import Valid, Values, converter, int64_array
from distmom.lake.columns.schema import SEARCHED_FILES, Reference
from distmom.lake.source import BatchReader, FileRef, ReadOptions
from distmom.numerics.arrays import Bools

Mask = Bools | None
FEW_VALUES, LEAST_BATCH = 16, 1_024
"""Batches of list columns are shortened where a row has more values, but keep so many rows."""

AnyReader = TypeVar("AnyReader", bound=BatchReader)


class WrongLength(Exception):
    """A vector of another length than the others: its row in the array, and its length."""

    def __init__(self, row: int, length: int) -> None:
        super().__init__(row, length)
        self.row, self.length = row, length


def lengths(array: pa.Array) -> tuple[Values, Valid]:
    """Length of each row's list, as a value; and which rows are not null."""
    import pyarrow.compute as pc  # 60 ms

    found = pc.call_function("list_value_length", [array])
    return converter(found.type)(found)


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
    length, there = lengths(array)
    wrong = length != width if there is None else there & (length != width)
    counted = wrong if keep is None else wrong & keep
    if counted.any():
        row = int(np.argmax(counted))
        raise WrongLength(row, int(length[row]))
    n = len(array)
    good = ~wrong if there is None else there & ~wrong
    rows: Any = slice(None)
    if not good.all():
        rows = np.flatnonzero(good)
        array = array.take(int64_array(rows))
    child = array.flatten()
    values, known = converter(child.type)(child)
    columns = np.zeros((width, n))
    columns[:, rows] = values.reshape(-1, width).T
    columns.flags.writeable = False
    if known is None:
        return [(column, None if good.all() else good) for column in columns]
    known_columns = np.zeros((width, n), np.bool_)
    known_columns[:, rows] = known.reshape(-1, width).T
    return list(zip(columns, known_columns, strict=True))


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
        f"column {name!r}: no row of {many} has a usable vector (all are null, or the filter drops them)"
    )
