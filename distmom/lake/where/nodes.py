"""Nodes of a condition: frozen, comparable and picklable; they know no Arrow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from typing import Literal as OneOf

Operator = OneOf["=", "!=", "<", "<=", ">", ">="]

COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}

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
class Constant:
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


Node = Compare | In | IsNull | Truth | Constant | Not | And | Or


def columns_of(node: Node) -> Iterator[Column]:
    """Columns of a condition in the order of the text, with repetitions."""
    match node:
        case Compare(_, left, right):
            yield from (side for side in (left, right) if isinstance(side, Column))
        case In(column) | IsNull(column) | Truth(column):
            yield column
        case Not(item):
            yield from columns_of(item)
        case And(items) | Or(items):
            for item in items:
                yield from columns_of(item)
