"""Evaluate a condition on Arrow arrays, a batch at a time, in Kleene's three-valued logic."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as patypes

from distmom.lake.columns.convert import float64_array, one_value, some_values, to_float64
from distmom.lake.where import nodes
from distmom.lake.where.exact import exact_value, grid_of, on_grid
from distmom.lake.where.times import compare_times, is_time_count

Operands = Mapping[str, pa.Array]
Logic = Any  # a boolean array of the batch's length, or a boolean scalar for what is the same in all rows

_NAMES = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
_FUNCTIONS = dict(zip(nodes.COMPARISONS, _NAMES, strict=True))


def evaluate(node: nodes.Node, operands: Operands) -> Logic:
    """Outcome of a condition in each row.

    Parameters
    ----------
    node : Node
        Checked against the columns' kinds.
    operands : mapping of str to pyarrow.Array
        The columns; an array of length one is the same in all rows.

    Returns
    -------
    pyarrow.BooleanArray or pyarrow.BooleanScalar
        With nulls where the condition is neither true nor false.
    """
    both, either = partial(_call, "and_kleene"), partial(_call, "or_kleene")
    return nodes.fold(node, partial(_of_leaf, operands), partial(_call, "invert"), both, either)


def _of_leaf(operands: Operands, leaf: nodes.Leaf) -> Logic:
    match leaf:
        case nodes.TruthValue(value):
            return _boolean(value)
        case nodes.Compare(operator, nodes.Column() as left, nodes.Literal() as right):
            return _outcome(operands[left.name], partial(_compare, operator, right, left.name))
        case nodes.Compare(operator, nodes.Literal() as left, nodes.Column() as right):
            flipped = nodes.FLIPPED[operator]
            return _outcome(operands[right.name], partial(_compare, flipped, left, right.name))
        case nodes.Compare(operator, nodes.Column(left_name), nodes.Column(right_name)):
            return _columns(operator, operands[left_name], operands[right_name])
        case nodes.Compare(operator, nodes.Literal(left_value), nodes.Literal(right_value)):
            return _boolean(nodes.COMPARISONS[operator](left_value, right_value))
        case nodes.In(column, among):
            return _outcome(operands[column.name], lambda array: _is_in(array, among, column.name))
        case nodes.IsNull(column):
            return _outcome(operands[column.name], lambda array: _call("is_null", array))
        case nodes.Truth(column):
            return _outcome(operands[column.name], lambda array: array.cast(pa.bool_()))
    raise AssertionError(leaf)  # pragma: no cover


def _call(function: str, *arguments: Any) -> Any:
    return pc.call_function(function, list(arguments))


def _boolean(value: bool | None) -> pa.BooleanScalar:
    return one_value(value, pa.bool_())[0]


def _outcome(array: pa.Array, outcome: Callable[[pa.Array], Any]) -> Logic:
    """Apply to an array; to a dictionary's few values instead of its many rows; scalar for length one."""
    if isinstance(array, pa.DictionaryArray) and len(array.dictionary) < len(array):
        if array.dictionary.null_count:
            array = array.dictionary_decode()
        else:
            of_values = outcome(array.dictionary)
            return _rows_of(of_values, outcome, array.indices)
    elif isinstance(array, pa.DictionaryArray):
        array = array.dictionary_decode()
    result = outcome(array)
    return result[0] if len(array) == 1 else result


def _rows_of(of_values: pa.Array, outcome: Callable[[pa.Array], Any], indices: pa.Array) -> Any:
    """Outcomes of rows from the outcomes of a dictionary's values; null rows have their own."""
    result = _call("take", of_values, indices)
    if indices.null_count:
        of_null = outcome(pa.nulls(1))[0]
        if of_null.is_valid:
            result = _call("coalesce", result, of_null)
    return result


def _where_valid(array: pa.Array, outcome: Any) -> pa.Array:
    """``outcome`` where the array is not null, else null."""
    return _call("if_else", _call("is_valid", array), outcome, _boolean(None))


def _compare(operator: nodes.Operator, literal: nodes.Literal, column: str, array: pa.Array) -> pa.Array:
    type_ = array.type
    if patypes.is_null(type_):
        return pa.nulls(len(array), pa.bool_())
    grid = grid_of(type_)
    if grid is not None:
        placed = on_grid(operator, exact_value(literal, type_, column), grid)
        if isinstance(placed, bool):
            return _where_valid(array, _boolean(placed))
        return _call(_FUNCTIONS[placed[0]], array, one_value(placed[1], type_)[0])
    array, values = _plain(array, [literal])
    if patypes.is_floating(type_) and math.isinf(values[0]):
        if operator in ("=", "!="):
            return _where_valid(array, _boolean(operator == "!="))
        operator = (
            ("<" if operator in ("<", "<=") else ">=")
            if values[0] > 0
            else ("<=" if operator in ("<", "<=") else ">")
        )
    return _call(_FUNCTIONS[operator], array, some_values(values, array.type)[0])


def _is_in(array: pa.Array, items: tuple[nodes.Literal, ...], column: str) -> pa.Array:
    type_ = array.type
    if patypes.is_null(type_):
        return pa.nulls(len(array), pa.bool_())
    grid = grid_of(type_)
    if grid is not None:
        placed = [on_grid("=", exact_value(item, type_, column), grid) for item in items]
        values: list[Any] = [place[1] for place in placed if not isinstance(place, bool)]
    else:
        array, values = _plain(array, items)
        if patypes.is_floating(type_):
            values = [value for value in values if math.isfinite(value)]
        if patypes.is_floating(type_) and 0.0 in values:
            values += [0.0, -0.0]  # one number, but two for a hash table
    if not values:
        return _where_valid(array, _boolean(False))
    options = pc.SetLookupOptions(some_values(values, array.type))
    return _where_valid(array, pc.call_function("is_in", [array], options))


def _float(value: Any) -> float:
    """A literal as a float; infinity, of which there is no literal, for what lies beyond all floats."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _plain(array: pa.Array, literals: Sequence[nodes.Literal]) -> tuple[pa.Array, list[Any]]:
    """Floats, booleans or texts in a type that Arrow compares, and literals as values of it."""
    type_ = array.type
    if patypes.is_boolean(type_):
        return array, [bool(one.value) for one in literals]
    if patypes.is_floating(type_):
        return array.cast(pa.float64()), [_float(one.value) for one in literals]
    array = array.cast(pa.large_string()) if patypes.is_string_view(type_) else array
    return array, [str(one.value) for one in literals]


def _columns(operator: nodes.Operator, left: pa.Array, right: pa.Array) -> Logic:
    sides = [
        side.dictionary_decode() if isinstance(side, pa.DictionaryArray) else side for side in (left, right)
    ]
    n_rows = max(map(len, sides))
    if any(patypes.is_null(side.type) for side in sides):
        return _boolean(None)
    if all(map(is_time_count, (side.type for side in sides))):
        result = compare_times(operator, *sides)
        return result[0] if n_rows == 1 else result
    type_ = _common_type(sides[0].type, sides[1].type)
    if type_ == pa.float64():
        sides = [_floats(side) for side in sides]
    elif type_ is not None:
        sides = [side.cast(type_) for side in sides]
    result = _call(_FUNCTIONS[operator], *[side[0] if len(side) < n_rows else side for side in sides])
    return result[0] if n_rows == 1 else result


def _floats(array: pa.Array) -> pa.Array:
    """The numbers as floats, each rounded once: Arrow's cast of decimals is off in the last place in some."""
    if not patypes.is_decimal(array.type):
        return array.cast(pa.float64(), safe=False)
    return float64_array(*to_float64(array))


def _common_type(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    """Type in which two columns are compared; None where Arrow's own choice loses nothing."""
    if left == right:
        return pa.float64() if patypes.is_float16(left) else None
    if patypes.is_floating(left) or patypes.is_floating(right):
        return pa.float64()
    if patypes.is_decimal(left) or patypes.is_decimal(right):
        scales = [type_.scale for type_ in (left, right) if patypes.is_decimal(type_)]
        return pa.decimal256(76, max(scales))
    if patypes.is_uint64(left) or patypes.is_uint64(right):
        return pa.decimal128(20, 0)
    if patypes.is_string_view(left) or patypes.is_string_view(right):
        return pa.large_string()
    return None
