"""Nodes of a condition: frozen, comparable and picklable; they know no Arrow."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from typing import Any, TypeVar
from typing import Literal as OneOf

T = TypeVar("T")

Operator = OneOf["=", "!=", "<", "<=", ">", ">="]

_FUNCTIONS = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)
COMPARISONS: dict[str, Callable[[Any, Any], bool]] = dict(
    zip(("=", "!=", "<", "<=", ">", ">="), _FUNCTIONS, strict=True)
)

FLIPPED: dict[Operator, Operator] = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True, slots=True)
class Column:
    """A column by its exact name."""

    name: str
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Literal:
    """A number (exact, as written), a text, or true or false."""

    value: int | Decimal | str | bool

    @property
    def kind(self) -> OneOf["number", "text", "bool"]:
        """What it is."""
        if isinstance(self.value, bool):
            return "bool"
        return "text" if isinstance(self.value, str) else "number"

    def written(self) -> str:
        """The literal as it stands in a condition."""
        if isinstance(self.value, bool):
            return str(self.value).lower()
        return "'" + self.value.replace("'", "''") + "'" if isinstance(self.value, str) else str(self.value)


Operand = Column | Literal


@dataclass(frozen=True, slots=True)
class Compare:
    """``left operator right``."""

    operator: Operator
    left: Operand
    right: Operand


@dataclass(frozen=True, slots=True)
class In:
    """``column in (items)``."""

    column: Column
    items: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class IsNull:
    """``column is null``; NaN is not null."""

    column: Column


@dataclass(frozen=True, slots=True)
class Truth:
    """A column of true and false that stands alone."""

    column: Column


@dataclass(frozen=True, slots=True)
class TruthValue:
    """``true`` or ``false``."""

    value: bool


@dataclass(frozen=True, slots=True)
class Not:
    """Negation: null stays null."""

    item: Node


@dataclass(frozen=True, slots=True)
class And:
    """All items."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Any item."""

    items: tuple[Node, ...]


Leaf = Compare | In | IsNull | Truth | TruthValue
Node = Leaf | Not | And | Or


def fold(
    node: Node,
    leaf: Callable[[Leaf], T],
    invert: Callable[[T], T],
    both: Callable[[T, T], T],
    either: Callable[[T, T], T],
) -> T:
    """What a condition comes to, from what its leaves come to."""
    if isinstance(node, Not):
        return invert(fold(node.item, leaf, invert, both, either))
    if isinstance(node, (And, Or)):
        parts = (fold(item, leaf, invert, both, either) for item in node.items)
        return reduce(both if isinstance(node, And) else either, parts)
    return leaf(node)


def leaves(node: Node) -> list[Leaf]:
    """The parts without ``and``, ``or`` and ``not``, in the order of the text."""
    return fold(node, lambda leaf: [leaf], lambda found: found, operator.add, operator.add)


def columns_of(node: Node) -> Iterator[Column]:
    """Columns of a condition in the order of the text, with repetitions."""
    for leaf in leaves(node):
        match leaf:
            case Compare(_, left, right):
                yield from (side for side in (left, right) if isinstance(side, Column))
            case In(column) | IsNull(column) | Truth(column):
                yield column


def right_columns(node: Node) -> tuple[str, ...]:
    """Columns without quotes that another column is compared with."""
    pairs = [leaf for leaf in leaves(node) if isinstance(leaf, Compare) and isinstance(leaf.left, Column)]
    return tuple(p.right.name for p in pairs if isinstance(p.right, Column) and not p.right.quoted)
