"""From the text of a condition to its nodes: cut into tokens, then recursive descent."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Literal as OneOf
from typing import NamedTuple, cast

from distmom.errors import ConfigError
from distmom.lake.where import nodes

MOST_DEPTH = 50  # parentheses and negations inside each other: keeps Python's stack small
MOST_CHARACTERS = 100_000
MOST_DIGITS = 400  # of a number, before or after its point: bounds the exact arithmetic

LIKE = "'like' is not supported; name the texts, as in: column in ('a', 'b')"

KEYWORDS = frozenset({"and", "or", "not", "in", "is", "null", "between", "true", "false"})

TokenKind = OneOf["operand", "keyword", "symbol", "end"]

_TOKEN = re.compile(
    r"""
      (?P<blank>\s+)
    | (?P<number>(?:-\s*)?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)
    | (?P<name>[^\W\d]\w*)
    | (?P<text>'(?:[^']|'')*')
    | (?P<quoted>"(?:[^"]|"")*"|`(?:[^`]|``)*`)
    | (?P<symbol><=|>=|<>|!=|==|[=<>(),-])
    """,
    re.VERBOSE | re.ASCII,
)
_NAME = re.compile(r"[^\W\d]\w*")


class Token(NamedTuple):
    """A piece of the text, and where it starts."""

    kind: TokenKind
    text: str  # keywords in lower case
    position: int
    operand: nodes.Operand | None = None


def syntax_error(text: str, position: int, problem: str) -> ConfigError:
    """An error that shows the place: the text around it with ``>>>`` before."""
    before, after = text[max(0, position - 30) : position], text[position : position + 30]
    place = f"{before}>>>{after}" if after else f"{before}>>> (end)"
    return ConfigError(f"where: {problem}, at character {position + 1}: {' '.join(place.split())}")


def tokenize(text: str) -> list[Token]:
    """Tokens of a condition, with an ``end`` token behind them.

    ConfigError if the text is empty, too long, or holds a character that starts no token; with its position.
    """
    if len(text) > MOST_CHARACTERS:
        raise ConfigError(f"where: a condition may have {MOST_CHARACTERS} characters, not {len(text)}")
    if not text.strip():
        raise ConfigError("where: the condition is empty; leave it out to keep all rows")
    tokens: list[Token] = []
    position = 0
    while position < len(text):
        match = _NAME.match(text, position) or _TOKEN.match(text, position)
        if match is None:
            raise syntax_error(text, position, _bad_character(text[position]))
        kind = match.lastgroup or "name"
        if kind != "blank":
            tokens.append(_token(kind, match.group(), position, text))
        position = match.end()
    tokens.append(Token("end", "", len(text)))
    return tokens


def number_value(found: str, position: int, text: str) -> int | Decimal:
    """Exact value of a number that was found at a position of the text."""
    value = Decimal("".join(found.split()))
    if (value and abs(value.adjusted()) > MOST_DIGITS) or len(found) > MOST_DIGITS:
        raise syntax_error(text, position, f"a number may have {MOST_DIGITS} digits or so")
    return int(value) if found.lstrip("-").strip().isdigit() else value


def _token(kind: str, found: str, position: int, text: str) -> Token:
    operand: nodes.Operand
    if kind == "name":
        lower = found.lower()
        if lower in KEYWORDS - {"true", "false"}:
            return Token("keyword", lower, position)
        operand = nodes.Literal(lower == "true") if lower in KEYWORDS else nodes.Column(found)
    elif kind == "number":
        after = text[position + len(found) :][:1]
        if after.isalnum() or after in ("_", "."):
            raise syntax_error(text, position, "a number must be followed by a blank or an operator")
        operand = nodes.Literal(number_value(found, position, text))
    elif kind == "text":
        operand = nodes.Literal(found[1:-1].replace("''", "'"))
    elif kind == "quoted":
        quote = found[0]
        operand = nodes.Column(found[1:-1].replace(quote * 2, quote), quoted=True)
    else:
        return Token("symbol", {"==": "=", "<>": "!="}.get(found, found), position)
    return Token("operand", found, position, operand)


def _bad_character(character: str) -> str:
    if character == "'":
        return "a text has no closing quote"
    if character in ('"', "`"):
        return "a quoted column name has no closing quote"
    if character == ".":
        return "a dot belongs to no bare name; write the column's name in double quotes"
    if character in "+*/%":
        return "arithmetic is not supported"
    return f"the character {character!r} is unexpected here"


def parse(text: str) -> nodes.Node:
    """Parse a condition. ConfigError, with the position, if the text is none."""
    parser = _ConditionParser(text)
    node = parser.disjunction(0)
    parser.expect_end()
    return node


class _ConditionParser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = tokenize(text)
        self._at = 0

    def disjunction(self, depth: int) -> nodes.Node:
        """``a or b or …``."""
        items = [self._conjunction(depth)]
        while self._accept("keyword", "or"):
            items.append(self._conjunction(depth))
        return items[0] if len(items) == 1 else nodes.Or(tuple(items))

    def _conjunction(self, depth: int) -> nodes.Node:
        items = [self._negation(depth)]
        while self._accept("keyword", "and"):
            items.append(self._negation(depth))
        return items[0] if len(items) == 1 else nodes.And(tuple(items))

    def _negation(self, depth: int) -> nodes.Node:
        if depth > MOST_DEPTH:
            raise self._error(f"more than {MOST_DEPTH} parentheses or negations inside each other")
        if self._accept("keyword", "not"):
            return nodes.Not(self._negation(depth + 1))
        if self._accept("symbol", "("):
            node = self.disjunction(depth + 1)
            self._demand("symbol", ")", "a closing parenthesis is missing")
            if self._peek().text in nodes.COMPARISONS and self._peek().kind == "symbol":
                raise self._error("parentheses hold conditions, not values; leave them out")
            return node
        return self._predicate()

    def _predicate(self) -> nodes.Node:
        start = self._peek()
        left = self._operand()
        if self._peek().kind == "symbol" and self._peek().text in nodes.COMPARISONS:
            operator = cast(nodes.Operator, self._next().text)
            right = self._operand()
            if self._peek().kind == "symbol" and self._peek().text in nodes.COMPARISONS:
                raise self._error("comparisons do not chain; write 'between', or two of them with 'and'")
            return nodes.Compare(operator, left, right)
        if self._accept("keyword", "is"):
            negated = self._accept("keyword", "not")
            self._demand("keyword", "null", "'is' must be followed by 'null' or 'not null'")
            return _negate(nodes.IsNull(self._column(left, start)), negated)
        negated = self._accept("keyword", "not")
        if self._accept("keyword", "in"):
            return _negate(nodes.In(self._column(left, start), self._items()), negated)
        if self._accept("keyword", "between"):
            low = self._operand()
            self._demand("keyword", "and", "'between' needs 'and'")
            high = self._operand()
            both = nodes.Compare(">=", left, low), nodes.Compare("<=", left, high)
            return _negate(nodes.And(both), negated)
        if negated:
            if self._peek().text.lower() in ("like", "ilike"):
                raise self._error(LIKE)
            raise self._error("expected 'in' or 'between' after 'not'")
        return self._alone(left, start)

    def _alone(self, operand: nodes.Operand, start: Token) -> nodes.Node:
        """A value without a comparison: a column of true and false, or ``true`` or ``false``."""
        if isinstance(operand, nodes.Column):
            if self._peek().text.lower() in ("like", "ilike"):
                raise self._error(LIKE)
            if self._peek().operand is not None:
                raise self._error("expected an operator such as = or 'in'")
            return nodes.Truth(operand)
        if isinstance(operand.value, bool):
            return nodes.TruthValue(operand.value)
        raise syntax_error(self._text, start.position, f"{operand.written()} alone is not a condition")

    def _items(self) -> tuple[nodes.Literal, ...]:
        self._demand("symbol", "(", "'in' needs a list in parentheses")
        items = [self._literal()]
        while self._accept("symbol", ","):
            items.append(self._literal())
        self._demand("symbol", ")", "expected a comma or a closing parenthesis")
        return tuple(items)

    def _literal(self) -> nodes.Literal:
        start = self._peek()
        operand = self._operand()
        if isinstance(operand, nodes.Column):
            raise syntax_error(
                self._text, start.position, "a list holds numbers and texts in single quotes, not columns"
            )
        return operand

    def _operand(self) -> nodes.Operand:
        token = self._peek()
        if token.operand is not None:
            self._next()
            return token.operand
        if token.kind == "symbol" and token.text == "-":
            raise self._error("a minus sign must precede a number; arithmetic is not supported")
        if token.kind == "keyword" and token.text == "null":
            raise self._error("nothing equals null; write 'is null' or 'is not null'")
        raise self._error("expected a column or a value")

    def _column(self, operand: nodes.Operand, start: Token) -> nodes.Column:
        if isinstance(operand, nodes.Column):
            return operand
        raise syntax_error(self._text, start.position, "expected a column here, not a value")

    def expect_end(self) -> None:
        """Demand that nothing follows."""
        token = self._peek()
        if token.kind != "end":
            raise self._error("expected 'and', 'or' or the end")

    def _peek(self) -> Token:
        return self._tokens[self._at]

    def _next(self) -> Token:
        token = self._tokens[self._at]
        self._at += 1
        return token

    def _accept(self, kind: str, text: str) -> bool:
        token = self._peek()
        if token.kind == kind and token.text == text:
            self._at += 1
            return True
        return False

    def _demand(self, kind: str, text: str, problem: str) -> None:
        if not self._accept(kind, text):
            raise self._error(problem)

    def _error(self, problem: str) -> ConfigError:
        return syntax_error(self._text, self._peek().position, problem)


def _negate(node: nodes.Node, negated: bool) -> nodes.Node:
    return nodes.Not(node) if negated else node
