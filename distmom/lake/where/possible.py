"""What a condition can be when only some columns are known: the partition columns of a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from distmom.lake.columns.scalars import one_value
from distmom.lake.where.nodes import (
    COMPARISONS,
    And,
    Compare,
    Constant,
    In,
    IsNull,
    Literal,
    Node,
    Not,
    Operand,
    Or,
    Truth,
    columns_of,
)

Outcome = bool | None  # None is null
Outcomes = frozenset[Outcome]
Values = Mapping[str, Any]
"""Integers, texts and None, or Arrow arrays of one value for what is compared as rows are: dates, floats."""

_ANYTHING: Outcomes = frozenset({True, False, None})


def possible(node: Node, values: Values) -> Outcomes:
    """Outcomes that a condition can have; ``values`` lacks the columns that are not known.

    Kleene's logic: a comparison with null is null, ``and`` is false as soon as one part is.
    """
    match node:
        case Constant(value):
            return frozenset({value})
        case Compare() | In() | Truth() if _as_rows(node, values):
            from distmom.lake.where.compute import evaluate

            names = [column.name for column in columns_of(node)]
            return frozenset({evaluate(node, {name: _array(values[name]) for name in names}).as_py()})
        case Compare(operator, left, right):
            return _compare(operator, left, right, values)
        case In(column, items):
            parts = [_compare("=", column, item, values) for item in items]
            return _fold(parts, _or)
        case IsNull(column):
            return (
                frozenset({values[column.name] is None})
                if column.name in values
                else frozenset({True, False})
            )
        case Truth(column):
            return _compare("=", column, Literal(True), values)
        case Not(item):
            return frozenset(None if outcome is None else not outcome for outcome in possible(item, values))
        case And(items):
            return _fold([possible(item, values) for item in items], _and)
        case Or(items):
            return _fold([possible(item, values) for item in items], _or)
    raise AssertionError(node)  # pragma: no cover


def _as_rows(node: Node, values: Values) -> bool:
    """Whether all columns are known, and one of them is an array."""
    found = [values.get(column.name, _ANYTHING) for column in columns_of(node)]
    return _ANYTHING not in found and any(isinstance(value, pa.Array) for value in found)


def _array(value: Any) -> pa.Array:
    if isinstance(value, pa.Array):
        return value
    return (
        pa.nulls(1)
        if value is None
        else one_value(value, pa.string() if isinstance(value, str) else pa.int64())
    )


def _compare(operator: str, left: Operand, right: Operand, values: Values) -> Outcomes:
    sides: list[Any] = []
    for side in (left, right):
        if isinstance(side, Literal):
            sides.append(side.value)
        elif side.name in values:
            sides.append(values[side.name])
        else:
            return _ANYTHING
    if None in sides:
        return frozenset({None})
    return frozenset({COMPARISONS[operator](sides[0], sides[1])})


def _fold(parts: list[Outcomes], combine: Callable[[Outcome, Outcome], Outcome]) -> Outcomes:
    result = parts[0]
    for part in parts[1:]:
        result = frozenset(combine(a, b) for a in result for b in part)
    return result


def _and(a: Outcome, b: Outcome) -> Outcome:
    if a is False or b is False:
        return False
    return None if a is None or b is None else True


def _or(a: Outcome, b: Outcome) -> Outcome:
    if a is True or b is True:
        return True
    return None if a is None or b is None else False
