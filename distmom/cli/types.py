"""Types of the values of options, with the errors that they give."""

from __future__ import annotations

from typing import Any

import click


class BlockNumber(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """``auto``, ``paper`` or a whole number."""

    name = "auto|paper|number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        """The word, or the number."""
        if isinstance(value, int) or value in ("auto", "paper"):
            return value  # type: ignore[no-any-return]
        try:
            return int(value)
        except ValueError:
            self.fail(f"{value!r} is neither auto nor paper nor a whole number", param, ctx)


class Seed(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """A whole number, ``random``, or a seed as a result prints it."""

    name = "number|random"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        """The number, ``random``, or the 32 digits of a printed seed."""
        if isinstance(value, int) or value == "random" or value[:2].lower() == "0x":
            return value  # type: ignore[no-any-return]
        try:
            return int(value)
        except ValueError:
            self.fail(f"{value!r} is neither a whole number nor 'random'", param, ctx)


class CountOrShare(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """A whole number, or a fraction."""

    name = "number|share"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | float:
        """The number as it was written: ``1`` is a row, ``0.1`` a tenth of them."""
        if isinstance(value, (int, float)):
            return value
        try:
            return int(value) if value.strip().isdecimal() else float(value)
        except ValueError:
            self.fail(f"{value!r} is neither a whole number nor a share", param, ctx)


class WholeNumber(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """A whole number, also written as ``1e9`` or ``64_000_000``."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number."""
        try:
            number = float(value)
        except ValueError:
            number = float("nan")
        if not number.is_integer() or number < 1:
            self.fail(f"{value!r} is not a whole number", param, ctx)
        text = str(value).replace("_", "")
        return int(text) if text.isdecimal() else int(number)


class StorageOption(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """``KEY=VALUE``; the value, which may be secret, is not shown."""

    name = "KEY=VALUE"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """The key and the value."""
        if isinstance(value, tuple):
            return value
        key, equals, text = value.partition("=")
        if not key or not equals:
            self.fail("must be KEY=VALUE, such as endpoint=http://127.0.0.1:9000", param, ctx)
        return key, text
