"""Put together one batch: stored columns, constants from folder names, missing columns, the filter's mask."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from distmom.errors import BadFileError
from distmom.lake.columns.convert import Valid, Values, converter, encodable, one_value, valid_rows
from distmom.lake.columns.extensions import kept
from distmom.lake.columns.int96 import is_int96
from distmom.lake.columns.schema import kind_of
from distmom.lake.columns.vectors import WrongLength, components, lengths
from distmom.lake.files.enums import is_enum
from distmom.lake.files.partitions import folder_value
from distmom.lake.source import Batch, PartitionType, ReadOptions
from distmom.numerics.arrays import Bools

if TYPE_CHECKING:
    import pyarrow.parquet as pq

    from distmom.lake.columns.times import TimeScale
    from distmom.lake.filters import Filter


NARROW = ("BOOLEAN", "INT32", "INT64", "FLOAT", "DOUBLE")
"""Physical types whose values have at most eight bytes."""


@dataclass(frozen=True, slots=True)
class FileColumn:
    """Where the values of an asked column come from in one file.

    Attributes
    ----------
    position : int, optional
        Physical position in the file; None if it is not stored.
    constant : pyarrow.Array, optional
        The one value that the folder's name gives (an array of length one).
    text : str, optional
        The folder's value as it is written, for messages.
    null : bool
        Whether the file lacks the column and its rows count as null.
    file : str
        The file, for messages.
    """

    name: str
    position: int | None = None
    constant: pa.Array | None = None
    text: str | None = None
    null: bool = False
    file: str = ""


def constant_column(
    name: str, text: str | None, kind: PartitionType, position: int | None, file: str
) -> FileColumn:
    """A column that the folder's name gives; a stored one of the same name is read to be compared."""
    return FileColumn(name, position, folder_value(text, kind), text, file=file)


class _SomeRows(NamedTuple):
    """The rows of one batch: number of the first, how many, which pass the filter."""

    start: int
    n: int
    keep: Bools | None


ValueSource = Callable[[Sequence[pa.Array], _SomeRows], list[tuple[Values, Valid]]]


class Assembler:
    """Builds the batches of one file; what can be settled once a file is settled here.

    Parameters
    ----------
    columns : list of FileColumn
        The asked columns; the stored ones among them are those that are read, in this order.
    types : mapping of str to pyarrow.DataType
        Types of the stored columns.
    schema : pyarrow.parquet.ParquetSchema, optional
        Physical columns of the file, if it is one.

    Attributes
    ----------
    names, positions : list
        Names and physical positions of what is read.
    enums, int96 : list of int
        Which of these are of such types.
    leaves : list of (str, str)
        Of each of these its path in the schema and its physical type.
    narrow : bool
        Whether each row has at most one value of a few bytes, in all of these.
    """

    def __init__(
        self,
        columns: Sequence[FileColumn],
        types: Mapping[str, pa.DataType],
        options: ReadOptions,
        schema: pq.ParquetSchema | None = None,
    ) -> None:
        stored = [column for column in columns if column.position is not None]
        self.positions = [column.position for column in stored if column.position is not None]
        self.names = [column.name for column in stored]
        places = [] if schema is None else [*enumerate(self.positions)]
        self.enums = [i for i, at in places if is_enum(schema, at)]
        self.int96 = [i for i, at in places if is_int96(schema, at)]
        leaves = [] if schema is None else [schema.column(at) for at in self.positions]
        self.leaves = [(one.path, one.physical_type) for one in leaves]
        self.narrow = all(one.max_repetition_level == 0 and one.physical_type in NARROW for one in leaves)
        self._columns = {column.name: column for column in columns}
        self._order = {column.name: i for i, column in enumerate(stored)}
        found = {i: types[column.name] for i, column in enumerate(stored) if column.name in types}
        self._times = {i: type_ for i, type_ in found.items() if pa.types.is_timestamp(type_)}
        self._disputed = [(column, i) for i, column in enumerate(stored) if column.constant is not None]
        self._options = options
        scales = options.scales
        self._values = [self._value_source(name, types, scales.get(name)) for name in options.columns]

    def _value_source(
        self, name: str, types: Mapping[str, pa.DataType], scale: TimeScale | None
    ) -> ValueSource:
        """How the values of a column are had from the stored arrays of some rows."""
        column = self._columns[name]
        width = dict(self._options.vectors or ()).get(name)
        if column.position is not None and column.constant is None and kind_of(types[name]) != "null":
            position = self._order[name]
            if width is None:
                convert = converter(types[name], scale)
                return lambda arrays, rows: [convert(arrays[position])]
            if width == 0:
                return lambda arrays, rows: [lengths(arrays[position])]
            return lambda arrays, rows: _elements(arrays[position], column, width, rows)
        if column.constant is None or column.constant.null_count:
            return lambda arrays, rows: [(np.zeros(rows.n), np.zeros(rows.n, np.bool_))] * (width or 1)
        value = converter(column.constant.type, scale)(column.constant)[0][0]
        return lambda arrays, rows: [(np.full(rows.n, value), None)]

    def batch(self, arrays: Sequence[pa.Array], start: int, n_rows: int, n_bytes: int) -> Batch:
        """Build a batch from the stored arrays of its rows.

        DataError if a stored column disagrees with the folder's value, or a vector has another length.
        """
        arrays = [kept(array) for array in arrays]
        for i, type_ in self._times.items():
            if arrays[i].type != type_:  # a table's times may be stored as dates, or without their zone
                arrays = [array.cast(type_) if j == i else array for j, array in enumerate(arrays)]
        for column, i in self._disputed:
            _check_agreement(column, arrays[i])
        options = self._options
        keep = None if options.where is None else self._mask(options.where, arrays, n_rows)
        rows = _SomeRows(start, n_rows, keep)
        pairs = [pair for value in self._values for pair in value(arrays, rows)]
        return Batch(
            start,
            n_rows,
            tuple([values for values, _ in pairs]),
            tuple([valid for _, valid in pairs]),
            keep,
            tuple([self._key(name, arrays, n_rows) for name in options.by]),
            n_bytes,
            tuple([self._key(name, arrays, n_rows) for name in options.units]),
            tuple([self._present(name, arrays, n_rows) for name in options.present]),
        )

    def _present(self, name: str, arrays: Sequence[pa.Array], n_rows: int) -> Valid:
        """Which rows of a column are not null."""
        column = self._columns[name]
        if column.constant is None and not column.null:
            array = arrays[self._order[name]]
            return np.zeros(n_rows, np.bool_) if kind_of(array.type) == "null" else valid_rows(array)
        lacking = column.null or bool(column.constant.null_count)  # type: ignore[union-attr]
        return np.zeros(n_rows, np.bool_) if lacking else None

    def _mask(self, where: Filter, arrays: Sequence[pa.Array], n_rows: int) -> Bools:
        operands: dict[str, pa.Array] = {}
        for name in where.columns:
            column = self._columns[name]
            if column.null:
                operands[name] = pa.nulls(1)
            elif column.constant is not None:
                operands[name] = column.constant
            else:
                operands[name] = arrays[self._order[name]]
        return where.mask(operands, n_rows)

    def _key(self, name: str, arrays: Sequence[pa.Array], n_rows: int) -> pa.Array:
        column = self._columns[name]
        if column.null:
            return pa.nulls(n_rows)
        if column.constant is None:
            return encodable(arrays[self._order[name]])
        if column.constant.null_count:
            return pa.nulls(n_rows, column.constant.type)
        type_ = pa.dictionary(pa.int8(), column.constant.type)
        return pa.DictionaryArray.from_buffers(type_, n_rows, [None, _zero_bytes(n_rows)], column.constant)


def _elements(array: pa.Array, column: FileColumn, width: int, rows: _SomeRows) -> list[tuple[Values, Valid]]:
    try:
        return components(array, width, rows.keep)
    except WrongLength as error:
        raise BadFileError(
            f"{column.file or 'the data'}: column {column.name!r} has a list of length {error.length} in row "
            f"{rows.start + error.row}, but the first of the data has length {width}; give vectors of one "
            "length, or filter the others out with where"
        ) from error


@lru_cache(maxsize=4)
def _zero_bytes(n_rows: int) -> pa.Buffer:
    return pa.py_buffer(bytes(n_rows))


def _check_agreement(column: FileColumn, array: pa.Array) -> None:
    """Compare a stored column with the folder's value, row by row.

    Values of one kind are compared as such, anything else by its text.
    """
    import pyarrow.compute as pc

    constant = column.constant
    assert constant is not None
    if constant.null_count:
        differs = pc.call_function("is_valid", [array])
    else:
        plain = array.dictionary_decode() if isinstance(array, pa.DictionaryArray) else array
        kind = kind_of(constant.type)
        if kind != "text" and kind_of(plain.type) == kind:
            other = constant[0]
        else:
            plain, other = plain.cast(pa.string()), one_value(column.text, pa.string())[0]
        same = pc.call_function("equal", [plain, other])
        differs = pc.call_function(
            "invert", [pc.call_function("coalesce", [same, one_value(False, pa.bool_())[0]])]
        )
    row = pc.call_function("index", [differs], pc.IndexOptions(one_value(True, pa.bool_())[0])).as_py()
    if row >= 0:
        says = "null" if column.text is None else column.text
        raise BadFileError(
            f"file {column.file}: its folder says {column.name}={says} but its stored column {column.name!r} "
            f"holds {array[row].as_py()!r}; rename the folder or drop the column"
        )
