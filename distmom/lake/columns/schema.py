"""Which Arrow types are read as values, as keys and in conditions, and what to say of the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import pyarrow as pa
from pyarrow import types as patypes

from distmom.errors import BadFileError
from distmom.lake.columns.times import TimeScale
from distmom.lake.source import PartitionType, ReadOptions

Kind = Literal[
    "number",
    "bool",
    "text",
    "binary",
    "date",
    "timestamp",
    "zoned",
    "time",
    "duration",
    "null",
    "struct",
    "vector",
    "list",
    "other",
]
Role = Literal["value", "coordinate", "vector", "key", "condition", "presence"]

SEARCHED_FILES = 1_000
"""How many files are asked before a name counts as misspelled, or a column as null throughout."""

_KINDS_OF_ROLE: dict[Role, frozenset[str]] = {
    "value": frozenset({"number", "bool", "date", "timestamp", "zoned", "duration", "null"}),
    "coordinate": frozenset({"number", "bool", "null"}),
    "vector": frozenset({"vector", "null"}),
    "key": frozenset(
        {"number", "bool", "text", "binary", "date", "timestamp", "zoned", "time", "duration", "null"}
    ),
    "condition": frozenset({"number", "bool", "text", "date", "timestamp", "zoned", "time", "null"}),
    "presence": frozenset(
        {"number", "bool", "text", "binary", "date", "timestamp", "zoned", "time", "duration", "null"}
        | {"vector", "list", "other"}
    ),
}

PARTITION_TYPES: dict[PartitionType, pa.DataType] = {
    "int": pa.int64(),
    "text": pa.string(),
    "date": pa.date32(),
    "bool": pa.bool_(),
    "float": pa.float64(),
    "decimal": pa.decimal128(38, 18),  # of a value the scale that it has
    "timestamp": pa.timestamp("us"),
    "zoned": pa.timestamp("us", "UTC"),
}

WORDS = {
    "number": "a number",
    "bool": "true or false",
    "text": "text",
    "binary": "binary",
    "date": "a date",
    "timestamp": "a timestamp",
    "zoned": "a timestamp with a time zone",
    "time": "a time of day",
    "duration": "a duration",
    "null": "all null",
    "struct": "a struct",
    "vector": "a list of numbers",
    "list": "a list",
    "other": "of an unknown type",
}

_REMEDIES = {
    "text": "cast it to a number when writing, or choose another column",
    "time": "store it as a number of a stated unit, such as seconds of the day",
    "duration": "store it as a number of a stated unit, such as seconds",
    "struct": "store the field wanted as a column of its own",
    "vector": "take the mean vector of its lists with joint=True",
    "list": "store each element as a column of its own",
}

_UNITED: dict[frozenset[Kind], str] = {
    frozenset(("date", "timestamp")): "rewrite the dates as timestamps of their midnights",
    frozenset(("date", "zoned")): "rewrite the dates as timestamps of their midnights in that time zone",
    frozenset(("timestamp", "zoned")): "rewrite those without a time zone with theirs",
    frozenset(("text", "binary")): "rewrite the bytes as text",
    frozenset(("text", "number")): "rewrite the texts as numbers",
}
"""What makes files of two types go together. What a date means beside a time, the files do not say; tables of
Delta and Iceberg do."""

_ACTIONS: dict[Role, str] = {
    "value": "only numbers, dates, timestamps and durations can be averaged",
    "coordinate": "only numbers are coordinates of a vector",
    "vector": "only lists of numbers are vectors",
    "key": "it cannot be a key of groups or units",
    "condition": "it cannot stand in a condition",
    "presence": "its nulls cannot be counted",
}


class Reference(NamedTuple):
    """Type of a column in the first file of the listing where it is not null throughout.

    ``scale`` tells what the numbers mean that dates, timestamps and durations are read as; ``width`` is the
    length of a fixed-size list, 0 for all other types.
    """

    column: str
    file: str
    type: str
    kind: Kind
    scale: TimeScale | None = None
    width: int = 0


def reference_of(column: str, file: str, type_: pa.DataType) -> Reference:
    """The reference that a file's type makes."""
    width = int(type_.list_size) if patypes.is_fixed_size_list(type_) else 0
    return Reference(column, file, type_name(type_), kind_of(type_), TimeScale.of(type_), width)


def roles_of(options: ReadOptions) -> list[tuple[str, Role]]:
    """The columns that the options ask for, each with its role; a column may have several."""
    vectors = dict(options.vectors or ())
    own: Role = "value" if options.vectors is None else "coordinate"
    roles: list[tuple[str, Role]] = [(name, "vector" if name in vectors else own) for name in options.columns]
    roles += [(name, "key") for name in (*options.by, *options.units)]
    roles += [(name, "presence") for name in options.present]
    if options.where is not None:
        keys = options.where.keys
        roles += [(name, "key" if name in keys else "condition") for name in options.where.columns]
    return roles


_TESTS: tuple[tuple[Kind, tuple[Callable[[pa.DataType], bool], ...]], ...] = (
    ("number", (patypes.is_integer, patypes.is_floating, patypes.is_decimal)),
    ("bool", (patypes.is_boolean,)),
    ("null", (patypes.is_null,)),
    ("text", (patypes.is_string, patypes.is_large_string, patypes.is_string_view)),
    ("timestamp", (patypes.is_timestamp,)),
    ("date", (patypes.is_date,)),
    ("binary", (patypes.is_binary, patypes.is_large_binary, patypes.is_binary_view)),
    ("binary", (patypes.is_fixed_size_binary,)),
    ("time", (patypes.is_time,)),
    ("duration", (patypes.is_duration,)),
    ("struct", (patypes.is_struct,)),
    ("vector", (patypes.is_list, patypes.is_large_list, patypes.is_fixed_size_list)),
    ("list", (patypes.is_nested,)),
)


def kind_of(type_: pa.DataType) -> Kind:
    """Family of a type; a dictionary counts as what its values are."""
    if patypes.is_dictionary(type_):
        return kind_of(type_.value_type)
    kind: Kind = next((kind for kind, tests in _TESTS if any(test(type_) for test in tests)), "other")
    if kind == "timestamp":
        return "timestamp" if type_.tz is None else "zoned"
    if kind == "vector":
        return "vector" if kind_of(type_.value_type) in ("number", "bool", "null") else "list"
    return kind


def type_name(type_: pa.DataType) -> str:
    """Name of a type in messages: a dictionary is only how its values are kept."""
    return str(type_.value_type if patypes.is_dictionary(type_) else type_)


def check_type(role: Role, column: str, type_: pa.DataType, file: str, reference: Reference | None) -> None:
    """Check that a column of a file can be read in its role, beside the same column of other files.

    Numbers of any width mix, also with booleans when they are values, and so do times of one kind in any
    unit; null goes with anything.

    Otherwise DataError, with the column and, where two files differ, both types and a file of each.
    """
    kind = kind_of(type_)
    fits_role = kind in _KINDS_OF_ROLE[role]
    numbers = role in ("value", "coordinate")
    mix = (
        reference is None or role == "presence" or (numbers and {kind, reference.kind} <= {"number", "bool"})
    )
    if kind == "null" or (fits_role and mix):
        return
    if reference is not None and reference.kind != kind:
        raise BadFileError(
            f"column {column!r} is {reference.type} in {reference.file} but {type_name(type_)} in {file}: "
            f"{WORDS[reference.kind]} and {WORDS[kind]} do not mix; give the files of one type only, "
            f"or {_UNITED.get(frozenset((kind, reference.kind)), 'rewrite the others')}"
        )
    if not fits_role:
        remedy = _REMEDIES.get(kind, "choose another column")
        if kind in ("vector", "list") and role not in ("value", "coordinate"):
            remedy = "choose another column, or store an element of the lists as a column"
        raise BadFileError(
            f"column {column!r} is {type_name(type_)} in {_name(file)}: {_ACTIONS[role]}; {remedy}"
        )


def fits(role: Role, kind: Kind) -> bool:
    """Whether a column of this kind can be read in a role."""
    return kind in _KINDS_OF_ROLE[role]


def _name(file: str) -> str:
    return file or "the data"
