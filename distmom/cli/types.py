"""Types of the values of options, with the errors that they give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from distmom.checks import did_you_mean
from distmom.cli.completion.values import words


class Parsed(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """The result of a function of a word; if it raises ValueError the word is wrong, and `rule` says how.

    Attributes
    ----------
    words : tuple of str
        Words that may stand in place of what is parsed: suggested, and completed.
    """

    def __init__(
        self, name: str, parse: Callable[[str], Any], rule: str, words: tuple[str, ...] = ()
    ) -> None:
        self.name, self._parse, self._rule, self.words = name, parse, rule, words

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        """The words."""
        return words(self.words, incomplete)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The value; a default has been converted already."""
        if not isinstance(value, str):
            return value
        try:
            return self._parse(value)
        except ValueError:
            self.fail(self._rule.format(repr(value)) + did_you_mean(value, self.words), param, ctx)


def _whole(text: str) -> int:
    number = float(text)
    if not number.is_integer() or number < 1:
        raise ValueError
    digits = text.replace("_", "")
    return int(digits) if digits.isdecimal() else int(number)


def _key_value(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise ValueError
    return key, value


BLOCK_NUMBER = Parsed(
    "auto|paper|number",
    lambda text: text if text in ("auto", "paper") else int(text),
    "{} is neither auto nor paper nor a whole number",
    ("auto", "paper"),
)
SEED = Parsed(  # also as a result prints it
    "number|random",
    lambda text: text if text == "random" or text[:2].lower() == "0x" else int(text),
    "{} is neither a whole number nor 'random'",
    ("random",),
)
COUNT_OR_SHARE = Parsed(  # as it was written: 1 is a row, 0.1 a tenth of them
    "number|share",
    lambda text: int(text) if text.strip().isdecimal() else float(text),
    "{} is neither a whole number nor a share",
)
WHOLE_NUMBER = Parsed("number", _whole, "{} is not a whole number")  # also as 1e9 or 64_000_000
STORAGE_OPTION = Parsed(  # the value may be secret, and is not shown
    "KEY=VALUE", _key_value, "must be KEY=VALUE, such as endpoint=http://127.0.0.1:9000"
)
