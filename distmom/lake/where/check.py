"""Check a condition against the types of the columns, so that a mismatch is an error, not an empty match."""

from __future__ import annotations

from collections.abc import Mapping

from distmom.errors import ConfigError
from distmom.lake.columns.schema import WORDS
from distmom.lake.where.exact import parse_date_text, parse_time_text
from distmom.lake.where.nodes import Column, Compare, In, Literal, Node, Operand, Truth, leaves

_CALENDAR = ("date", "timestamp", "zoned")


def check(node: Node, kinds: Mapping[str, str]) -> None:
    """Check every comparison of a condition.

    ConfigError if a column is compared with what it cannot equal; it names the column, its type and the
    remedy.

    Parameters
    ----------
    kinds : mapping of str to str
        Kind of each column; a column that is null throughout is left out and fits anything.
    """
    for leaf in leaves(node):
        match leaf:
            case Compare(operator, left, right):
                _check_pair(operator, left, right, kinds)
            case In(column, items):
                for item in items:
                    _check_pair("=", column, item, kinds)
            case Truth(column):
                kind = kinds.get(column.name)
                if kind not in (None, "null", "bool"):
                    raise ConfigError(
                        f"where: column {column.name!r} is {WORDS[kind]}, not a condition; "
                        "compare it with a value"
                    )


def _check_pair(operator: str, left: Operand, right: Operand, kinds: Mapping[str, str]) -> None:
    if isinstance(left, Literal) and isinstance(right, Column):
        left, right = right, left
    if isinstance(left, Literal):
        if isinstance(right, Literal) and left.kind != right.kind:
            raise ConfigError(f"where: {left.written()} and {right.written()} are not of one type")
        return
    kind = kinds.get(left.name)
    if kind is None or kind == "null":
        return
    if isinstance(right, Literal):
        _check_literal(operator, left, kind, right)
        return
    other = kinds.get(right.name)
    if other is None or other == "null" or other == kind or {kind, other} == {"date", "timestamp"}:
        return
    raise ConfigError(
        f"where: column {left.name!r} is {WORDS[kind]} but column {right.name!r} is {WORDS[other]}; "
        "they cannot be compared"
    )


def _check_literal(operator: str, column: Column, kind: str, literal: Literal) -> None:
    name, written = column.name, literal.written()
    if kind == "bool" and literal.kind == "bool" and operator not in ("=", "!="):
        raise ConfigError(f"where: column {name!r} is true or false: use = or !=, not {operator}")
    if kind == literal.kind:
        return
    if kind in _CALENDAR and isinstance(literal.value, str):
        _, zoned = parse_date_text(literal.value, name)
        if zoned and kind != "zoned":
            raise ConfigError(f"where: column {name!r} has no time zone; write {written} without its offset")
        if not zoned and kind == "zoned":
            raise ConfigError(
                f"where: column {name!r} has a time zone; write date, time and offset, "
                "as in '2024-01-31T00:00:00Z'"
            )
        return
    if kind == "time" and isinstance(literal.value, str):
        parse_time_text(literal.value, name)
        return
    raise ConfigError(
        f"where: column {name!r} is {WORDS[kind]}, not {WORDS[literal.kind]}; {_remedy(kind, literal)}"
    )


def _remedy(kind: str, literal: Literal) -> str:
    if kind == "text":
        return f"write its exact text in single quotes, as in '{literal.value}'"
    if kind == "number":
        return "write the number without quotes"
    if kind == "bool":
        return "write true or false"
    return "write it as '10:30:00'" if kind == "time" else "write it as '2024-01-31' or '2024-01-31T10:30:00'"
