"""Dictionary columns that lose their dictionaries on the way, and get one for all files back; views, too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as patypes

MOST_VALUES = 1 << 16
"""Dictionaries with more values over all files are made anew for each file that is written."""

Known = Mapping[str, pa.Array | None]


@dataclass(frozen=True)
class Dictionaries:
    """Values of the dictionaries of each column, in the order in which they were met; None for too many."""

    known: Known = field(default_factory=dict)

    def followed_by(self, other: Dictionaries) -> Dictionaries:
        """These values and then those that the other ones have besides."""
        names = dict.fromkeys([*self.known, *other.known])
        return Dictionaries({name: _joined(self.known, other.known, name) for name in names})

    def types(self, stored: pa.Schema, schema: pa.Schema) -> pa.Schema:
        """`schema` with the dictionary types of `stored`; indices are as wide as the values need."""
        fields = []
        for own, was in zip(schema, [*stored, *list(schema)[len(stored) :]], strict=True):
            if patypes.is_dictionary(was.type):
                values = self.known.get(own.name, pa.array([], own.type))
                index = was.type.index_type
                many = MOST_VALUES + 1 if values is None else len(values)
                if many > _capacity(index):
                    index = pa.int32()
                fields.append(own.with_type(pa.dictionary(index, own.type, was.type.ordered)))
            else:
                fields.append(own.with_type(was.type) if _castable(own.type, was.type) else own)
        return pa.schema(fields, schema.metadata)

    def restored(self, column: pa.Array, name: str, type_: pa.DataType) -> pa.Array:
        """Plain values as a column of this type."""
        if not patypes.is_dictionary(type_):
            return column if column.type == type_ else column.cast(type_)
        values = self.known.get(name)
        if values is None:
            encoded = column.dictionary_encode()
            indices, values = encoded.indices, encoded.dictionary
        else:
            indices = pc.index_in(column, value_set=values)
        return pa.DictionaryArray.from_arrays(indices.cast(type_.index_type), values, ordered=type_.ordered)


class DictionaryNotes:
    """Collects the dictionaries of batches."""

    def __init__(self) -> None:
        self._known: dict[str, pa.Array | None] = {}
        self._last: dict[str, pa.Array] = {}

    def note(self, batch: pa.RecordBatch) -> None:
        """Add those of a batch."""
        for field_, column in zip(batch.schema, batch.columns, strict=True):
            if not patypes.is_dictionary(field_.type):
                continue
            last = self._last.get(field_.name)
            if last is None or not last.equals(column.dictionary):
                self._last[field_.name] = column.dictionary
                self._known[field_.name] = _joined(
                    self._known, {field_.name: _distinct(column.dictionary)}, field_.name
                )

    def result(self) -> Dictionaries:
        """All of them."""
        return Dictionaries(self._known)


def _joined(left: Known, right: Known, name: str) -> pa.Array | None:
    if name not in left or name not in right:
        return left[name] if name in left else right[name]
    first, second = left[name], right[name]
    if first is None or second is None:
        return None
    if first.equals(second):
        return first
    return _distinct(pa.concat_arrays([first, second]))


def _distinct(values: pa.Array) -> pa.Array | None:
    """Values without repeats and nulls, as plain ones; None if there are too many."""
    if patypes.is_dictionary(values.type):
        values = values.dictionary_decode()
    found = pc.unique(values.drop_null())
    return None if len(found) > MOST_VALUES else found


def _castable(plain: pa.DataType, type_: pa.DataType) -> bool:
    """Whether PyArrow turns plain values into this type, such as views."""
    try:
        return bool(pa.array([], plain).cast(type_).type == type_)
    except pa.ArrowException:
        return False


def _capacity(index: pa.DataType) -> int:
    """Values that indices of this type can tell apart."""
    signed = patypes.is_signed_integer(index)
    return 1 << (int(index.bit_width) - int(signed))
