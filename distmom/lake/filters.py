"""Conditions that rows must meet: in the small safe language, or as an Arrow expression."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from distmom.errors import ConfigError, DataError
from distmom.lake.columns.convert import bit_values, int64_array, valid_rows
from distmom.lake.keys.codes import dictionary_places
from distmom.lake.keys.keyvalues import Component, components
from distmom.lake.messages import first_line
from distmom.lake.where.check import check
from distmom.lake.where.nodes import Leaf, Node, columns_of, fold, right_columns
from distmom.lake.where.parse import parse
from distmom.numerics.arrays import Bools

if TYPE_CHECKING:
    import pyarrow.compute as pc

    from distmom.lake.source import Source


class Filter:
    """A condition that rows must meet; frozen and picklable.

    Attributes
    ----------
    columns : tuple of str
        Columns that it reads.
    keys : tuple of str
        Those among them whose values are compared as keys of groups are.
    text : str
        How it is shown.
    identity : str
        Equal for conditions that are written differently, but mean the same in a way that is plain.
    """

    if TYPE_CHECKING:  # fields or properties

        @property
        def columns(self) -> tuple[str, ...]: ...  # noqa: D102
        @property
        def text(self) -> str: ...  # noqa: D102
        @property
        def identity(self) -> str: ...  # noqa: D102

    @property
    def keys(self) -> tuple[str, ...]:
        """None, as a rule."""
        return ()

    def bare(self) -> tuple[str, ...]:
        """Columns without quotes that another one is compared with: perhaps they are meant as texts."""
        return ()

    def check(self, kinds: Mapping[str, str]) -> None:
        """Raise ConfigError if it does not fit the kinds of the columns."""

    def mask(self, operands: Mapping[str, pa.Array], n_rows: int) -> Bools:
        """Rows for which it is true; an operand of length one is the same in all rows."""
        raise NotImplementedError

    def excludes(self, values: Mapping[str, pa.Array]) -> bool:
        """Whether it cannot be true where columns have these (arrays of one), whatever the others are."""
        return False


@dataclass(frozen=True)
class TextFilter(Filter):
    """A condition of the small language.

    Attributes
    ----------
    text : str
        As it was written.
    node : Node
        As it was understood.
    """

    text: str
    node: Node = field(repr=False)
    columns: tuple[str, ...]

    @property
    def identity(self) -> str:
        """What was understood, whatever blanks and parentheses it was written with."""
        return repr(self.node)

    def bare(self) -> tuple[str, ...]:
        """Columns on the right of a comparison with another."""
        return right_columns(self.node)

    def check(self, kinds: Mapping[str, str]) -> None:
        """Check each comparison against the kinds of the columns (see `distmom.lake.columns.schema.kind_of`).

        ConfigError if a column is compared with what it cannot equal, such as a text with a number.
        """
        check(self.node, kinds)

    def mask(self, operands: Mapping[str, pa.Array], n_rows: int) -> Bools:
        """Rows for which the condition is true: neither those where it is false nor where it is null."""
        from distmom.lake.where.compute import evaluate

        try:
            outcome = evaluate(self.node, operands)
        except pa.ArrowException as error:
            raise DataError(f"where: {self.text!r} cannot be evaluated: {first_line(error)}") from error
        if isinstance(outcome, pa.Scalar):
            return np.full(n_rows, outcome.as_py() is True)
        return true_rows(outcome)

    def excludes(self, values: Mapping[str, pa.Array]) -> bool:
        """Whether the condition cannot be true where some columns have these values.

        Of each part it is asked whether it can be true, and whether false.
        """
        from distmom.lake.where.compute import evaluate

        def can_be(leaf: Leaf) -> tuple[bool, bool]:
            if not all(column.name in values for column in columns_of(leaf)):
                return True, True
            outcome = evaluate(leaf, values).as_py()
            return outcome is True, outcome is False

        return not fold(
            self.node,
            can_be,
            lambda part: (part[1], part[0]),
            lambda a, b: (a[0] and b[0], a[1] or b[1]),
            lambda a, b: (a[0] or b[0], a[1] and b[1]),
        )[0]


@dataclass(frozen=True)
class ExpressionFilter(Filter):
    """A condition given as an Arrow expression, which Arrow has bound to the columns' types.

    Attributes
    ----------
    schema : pyarrow.Schema
        The columns that it reads, with their types in the first file.
    """

    expression: pc.Expression
    schema: pa.Schema

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that the expression reads."""
        return tuple(self.schema.names)

    @property
    def text(self) -> str:
        """Arrow's text, which leaves out the middle of long lists."""
        return " ".join(str(self.expression).split())

    @property
    def identity(self) -> str:
        """A hash of what Arrow would send to another process."""
        _, (sent, *_) = self.expression.__reduce__()
        return f"arrow {hashlib.blake2b(sent, digest_size=16).hexdigest()}"

    def mask(self, operands: Mapping[str, pa.Array], n_rows: int) -> Bools:
        """Rows that the expression keeps: the batch is filtered with its row numbers beside it."""
        arrays = [self._operand(field_, operands[field_.name], n_rows) for field_ in self.schema]
        arrays.append(int64_array(np.arange(n_rows)))
        names = [*self.schema.names, max(self.schema.names, default="") + "_"]  # no column has the last name
        try:
            kept = pa.Table.from_arrays(arrays, names=names).filter(self.expression).column(names[-1])
        except (pa.ArrowException, TypeError) as error:
            raise DataError(f"where: the expression cannot be evaluated: {first_line(error)}") from error
        mask = np.zeros(n_rows, np.bool_)
        for chunk in kept.chunks:
            mask[np.from_dlpack(chunk)] = True
        return mask

    @staticmethod
    def _operand(field_: pa.Field, array: pa.Array, n_rows: int) -> pa.Array:
        if isinstance(array, pa.DictionaryArray):
            array = array.dictionary_decode()
        if pa.types.is_null(array.type):
            return pa.nulls(n_rows, field_.type)
        return array if len(array) == n_rows else pa.repeat(array[0], n_rows)


@dataclass(frozen=True)
class GroupFilter(Filter):
    """Rows of one group of a column, as a pass with ``by`` has found it.

    A value that was read once need not be written down: decimals, NaN, bytes and durations have no text in
    the small language, and are equal here as groups are.

    Attributes
    ----------
    component : Component
        Of the group's key, not null.
    shown : str
        The value as people see it.
    also : Filter, optional
        A condition that must hold too.
    """

    column: str
    component: Component
    shown: str
    also: Filter | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The column, and those of the other condition."""
        others = () if self.also is None else self.also.columns
        return tuple(dict.fromkeys((self.column, *others)))

    @property
    def keys(self) -> tuple[str, ...]:
        """The column; those of the other condition were checked when it was read alone."""
        return (self.column,)

    @property
    def text(self) -> str:
        """How it is shown."""
        mine = f"{self.column} = {self.shown}"
        return mine if self.also is None else f"({self.also.text}) and {mine}"

    @property
    def identity(self) -> str:
        """The key of the group, whatever it is called."""
        other = "" if self.also is None else self.also.identity
        return f"group {self.column!r} {self.component!r} {other}"

    def check(self, kinds: Mapping[str, str]) -> None:
        """Raise ConfigError if the other condition does not fit the kinds of the columns."""
        if self.also is not None:
            self.also.check(kinds)

    def mask(self, operands: Mapping[str, pa.Array], n_rows: int) -> Bools:
        """Rows of the group for which the other condition is true."""
        mine = self._equal(operands[self.column])
        if len(mine) != n_rows:
            mine = np.repeat(mine, n_rows)
        return mine if self.also is None else mine & self.also.mask(operands, n_rows)

    def excludes(self, values: Mapping[str, pa.Array]) -> bool:
        """Whether a column of folders has another value, or the other condition cannot be true."""
        if self.column in values and components(values[self.column]) != [self.component]:
            return True
        return self.also is not None and self.also.excludes(values)

    def _equal(self, array: pa.Array) -> Bools:
        """Which values are the group's; each distinct one is looked at once."""
        if pa.types.is_null(array.type):
            return np.zeros(len(array), np.bool_)
        encoded = array if isinstance(array, pa.DictionaryArray) else array.dictionary_encode()
        found = [one == self.component for one in components(encoded.dictionary)]
        return np.array([*found, False])[dictionary_places(encoded)]


def true_rows(outcome: pa.BooleanArray) -> Bools:
    """True where a boolean array is true, False where it is false or null."""
    values, valid = bit_values(outcome), valid_rows(outcome)
    return values if valid is None else values & valid


def parse_filter(text: str) -> TextFilter:
    """Parse a condition of the small language.

    ConfigError if the text is no condition; it shows the place.

    Parameters
    ----------
    text : str
        Comparisons (``=``, ``!=``, ``<``, ``<=``, ``>``, ``>=``) of columns with values or columns,
        ``in (…)``, ``between … and …``, ``is null``, joined by ``and``, ``or``, ``not`` and parentheses.
        Texts, dates and times stand in single quotes; column names stand bare, or in double quotes or
        backticks if they hold blanks, dots or signs.

    Returns
    -------
    TextFilter

    Notes
    -----
    Conditions follow SQL: a comparison with null is null, and rows are kept where the condition is true.
    NaN equals nothing, not even itself, so of the comparisons only ``!=`` is true of it. Integers,
    decimals, dates and times are compared exactly, floats as float64.

    Examples
    --------
    >>> parse_filter("status == 'paid' and amount between 1 and 1e6").columns
    ('status', 'amount')
    """
    node = parse(text)
    return TextFilter(text, node, tuple(dict.fromkeys(column.name for column in columns_of(node))))


def as_filter(where: str | Filter | pc.Expression | None, source: Source) -> Filter | None:
    """A filter from what a user gives, with its column names looked up in the source.

    ConfigError if it is no condition, or names a column that the source does not have.
    """
    if where is None:
        return None
    if isinstance(where, str):
        parsed = parse_filter(where)
        _hint_at_quotes(parsed, source)
        return parsed
    if type(where).__name__ == "Expression" and type(where).__module__.startswith("pyarrow"):
        return _expression_filter(where, source.schema())
    if isinstance(where, Filter):
        return where
    raise ConfigError(f"where must be a text or an Arrow expression, not {type(where).__name__}")


def _hint_at_quotes(parsed: TextFilter, source: Source) -> None:
    """Double quotes name a column: say so where a text was meant."""
    quoted = {column.name for column in columns_of(parsed.node) if column.quoted}
    wrong = sorted(quoted - set(source.schema().names)) if quoted else []
    if wrong:
        name = wrong[0]
        text = name.replace("'", "''")
        raise ConfigError(
            f"where: no column {name!r}; double quotes name a column, a text is written '{text}'"
        )


def _expression_filter(expression: Any, schema: pa.Schema) -> ExpressionFilter:
    """Find the columns that an expression reads: those without which it cannot be bound."""
    shown = str(expression)
    types = [type_.value_type if pa.types.is_dictionary(type_) else type_ for type_ in schema.types]
    plain = pa.schema(list(zip(schema.names, types, strict=True)))
    table = plain.empty_table()
    try:
        table.filter(expression)
    except (pa.ArrowException, TypeError) as error:
        raise ConfigError(f"where: the expression does not fit the columns: {first_line(error)}") from error
    read: list[pa.Field] = []
    for field_ in plain:
        if field_.name not in shown:
            continue
        try:
            table.drop_columns([field_.name]).filter(expression)
        except (pa.ArrowException, TypeError):
            read.append(field_)
    return ExpressionFilter(expression, pa.schema(read))
