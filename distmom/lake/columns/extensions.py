"""Columns of Arrow's extension types, such as ``arrow.uuid`` and tensors, are read as they are kept."""

from __future__ import annotations

from typing import Any

import pyarrow as pa


def kept_type(type_: pa.DataType) -> pa.DataType:
    """What values of a type are kept as; the type itself, unless it is an extension.

    Examples
    --------
    >>> kept_type(pa.uuid()), kept_type(pa.int8())
    (FixedSizeBinaryType(fixed_size_binary[16]), DataType(int8))
    """
    return type_.storage_type if isinstance(type_, pa.BaseExtensionType) else type_


def kept_schema(schema: pa.Schema) -> pa.Schema:
    """The schema with the types that values are kept as."""
    if not any(isinstance(type_, pa.BaseExtensionType) for type_ in schema.types):
        return schema
    return pa.schema([field.with_type(kept_type(field.type)) for field in schema], schema.metadata)


def kept(values: Any) -> Any:
    """An array, or a chunked one, as it is kept: in the same memory."""
    if not isinstance(values.type, pa.BaseExtensionType):
        return values
    if isinstance(values, pa.ChunkedArray):
        return pa.chunked_array([chunk.storage for chunk in values.chunks], values.type.storage_type)
    return values.storage
