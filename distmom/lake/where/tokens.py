"""Cut a condition into tokens."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Literal as OneOf
from typing import NamedTuple

from distmom.errors import ConfigError

MOST_CHARACTERS = 100_000
MOST_DIGITS = 400  # of a number, before or after its point: bounds the exact arithmetic

KEYWORDS = frozenset({"and", "or", "not", "in", "is", "null", "between", "true", "false"})

TokenKind = OneOf["name", "quoted", "number", "text", "keyword", "symbol", "end"]

_TOKEN = re.compile(
    r"""
      (?P<blank>\s+)
    | (?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)
    | (?P<name>[^\W\d]\w*)
    | (?P<text>'(?:[^']|'')*')
    | (?P<quoted>"(?:[^"]|"")+"|`(?:[^`]|``)+`)
    | (?P<symbol><=|>=|<>|!=|==|[=<>(),-])
    """,
    re.VERBOSE | re.ASCII,
)
_NAME = re.compile(r"[^\W\d]\w*")


class Token(NamedTuple):
    """A piece of the text, and where it starts."""

    kind: TokenKind
    text: str  # keywords in lower case; names and texts without their quotes
    position: int


def syntax_error(text: str, position: int, problem: str) -> ConfigError:
    """An error that shows the place: the text around it with ``>>>`` before."""
    before, after = text[max(0, position - 30) : position], text[position : position + 30]
    place = f"{before}>>>{after}" if after else f"{before}>>> (end)"
    return ConfigError(f"where: {problem}, at character {position + 1}: {' '.join(place.split())}")


def tokenize(text: str) -> list[Token]:
    """Tokens of a condition, with an ``end`` token behind them.

    Raises
    ------
    ConfigError
        If the text is empty, too long, or holds a character that starts no token; with its position.
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


def number_value(token: Token, text: str) -> int | Decimal:
    """Exact value of a number token."""
    value = Decimal(token.text)
    if (value and abs(value.adjusted()) > MOST_DIGITS) or len(token.text) > MOST_DIGITS:
        raise syntax_error(text, token.position, f"a number may have {MOST_DIGITS} digits or so")
    return int(token.text) if token.text.isdigit() else value


def _token(kind: str, found: str, position: int, text: str) -> Token:
    if kind == "name":
        lower = found.lower()
        return Token("keyword", lower, position) if lower in KEYWORDS else Token("name", found, position)
    if kind == "number":
        after = text[position + len(found) :][:1]
        if after.isalnum() or after in ("_", "."):
            raise syntax_error(text, position, "a number must be followed by a blank or an operator")
        return Token("number", found, position)
    if kind == "text":
        return Token("text", found[1:-1].replace("''", "'"), position)
    if kind == "quoted":
        quote = found[0]
        return Token("quoted", found[1:-1].replace(quote * 2, quote), position)
    return Token("symbol", {"==": "=", "<>": "!="}.get(found, found), position)


def _bad_character(character: str) -> str:
    if character == "'":
        return "a text has no closing quote"
    if character in ('"', "`"):
        return "a quoted column name is empty or has no closing quote"
    if character == ".":
        return "a dot belongs to no bare name; write the column's name in double quotes"
    if character in "+*/%":
        return "arithmetic is not supported"
    return f"the character {character!r} means nothing here"
