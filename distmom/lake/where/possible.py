"""What a condition can be when only some columns are known: the partition columns of a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pyarrow as pa

from distmom.lake.columns.convert import one_value
from distmom.lake.where import nodes

Outcome = bool | None  # None is null
Outcomes = frozenset[Outcome]
Values = Mapping[str, Any]
"""Integers, texts and None, or Arrow arrays of one value for what is compared as rows are: dates, floats."""


def possible(node: nodes.Node, values: Values) -> Outcomes:
    """Outcomes that a condition can have; ``values`` lacks the columns that are not known.

    Kleene's logic: a comparison with null is null, ``and`` is false as soon as one part is.
    """
    both, either = partial(_each, _and), partial(_each, _or)
    return nodes.fold(node, partial(_of_leaf, values), _inverted, both, either)


def _of_leaf(values: Values, leaf: nodes.Leaf) -> Outcomes:
    names = [column.name for column in nodes.columns_of(leaf)]
    if not all(name in values for name in names):
        return frozenset({True, False} if isinstance(leaf, nodes.IsNull) else {True, False, None})
    known = [values[name] for name in names]
    if isinstance(leaf, nodes.TruthValue):
        return frozenset({leaf.value})
    if isinstance(leaf, nodes.IsNull):
        return frozenset({known[0] is None})
    if any(isinstance(value, pa.Array) for value in known):
        from distmom.lake.where.compute import evaluate

        return frozenset({evaluate(leaf, dict(zip(names, map(_array, known), strict=True))).as_py()})
    if None in known:
        return frozenset({None})
    if isinstance(leaf, nodes.Compare):
        sides = [values[s.name] if isinstance(s, nodes.Column) else s.value for s in (leaf.left, leaf.right)]
        return frozenset({nodes.COMPARISONS[leaf.operator](*sides)})
    others = [item.value for item in leaf.items] if isinstance(leaf, nodes.In) else [True]
    return frozenset({known[0] in others})


def _array(value: Any) -> pa.Array:
    if isinstance(value, pa.Array):
        return value
    return (
        pa.nulls(1)
        if value is None
        else one_value(value, pa.string() if isinstance(value, str) else pa.int64())
    )


def _inverted(outcomes: Outcomes) -> Outcomes:
    return frozenset(None if outcome is None else not outcome for outcome in outcomes)


def _each(combine: Callable[[Outcome, Outcome], Outcome], left: Outcomes, right: Outcomes) -> Outcomes:
    return frozenset(combine(a, b) for a in left for b in right)


def _and(a: Outcome, b: Outcome) -> Outcome:
    if a is False or b is False:
        return False
    return None if a is None or b is None else True


def _or(a: Outcome, b: Outcome) -> Outcome:
    if a is True or b is True:
        return True
    return None if a is None or b is None else False
