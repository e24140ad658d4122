"""Columns that Parquet calls ENUM, as writers of Avro and Protocol Buffers do: texts, PyArrow has bytes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyarrow import types as patypes


def is_enum(schema: Any, position: int) -> bool:
    """Whether a physical column of a Parquet schema holds names of such a type."""
    return bool(schema.column(position).logical_type.type == "ENUM")


def with_texts(parquet: Any, schema: pa.Schema) -> pa.Schema:
    """The schema of a file with texts where it has such columns."""
    if not any(_is_bytes(type_) for type_ in schema.types):
        return schema
    for position in range(parquet.metadata.num_columns):
        if is_enum(parquet.schema, position):
            at = schema.get_field_index(parquet.schema.column(position).path)  # -1 within a list or a struct
            if at >= 0 and _is_bytes(schema.field(at).type):
                schema = schema.set(at, schema.field(at).with_type(_text(schema.field(at).type)))
    return schema


def as_text(values: pa.Array) -> pa.Array:
    """Such values as texts, also where they are a dictionary. ArrowInvalid where they are not UTF-8."""
    if not _is_bytes(values.type):
        return values
    if patypes.is_dictionary(values.type):
        return pa.DictionaryArray.from_arrays(values.indices, as_text(values.dictionary))
    return values.cast(_text(values.type))


def _is_bytes(type_: pa.DataType) -> bool:
    if patypes.is_dictionary(type_):
        return _is_bytes(type_.value_type)
    return bool(patypes.is_binary(type_) or patypes.is_large_binary(type_))


def _text(type_: pa.DataType) -> pa.DataType:
    if patypes.is_dictionary(type_):
        return pa.dictionary(type_.index_type, _text(type_.value_type))
    return pa.large_string() if patypes.is_large_binary(type_) else pa.string()
