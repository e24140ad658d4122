"""Documentation of attributes that a class inherits."""

from __future__ import annotations

import inspect
import re

SECTION = "Attributes\n----------\n"
_ENTRY = re.compile(r"^(?=\S)", re.MULTILINE)


def with_attributes(own: str | None, base: str | None) -> str | None:
    """A docstring with the attributes that only the base's docstring documents added."""
    if own is None or base is None:  # without docstrings, under python -OO
        return own
    text, base = inspect.cleandoc(own), inspect.cleandoc(base)
    if SECTION not in base:
        return own
    if SECTION not in text:
        text += f"\n\n{SECTION}"
    head, mine, tail = _parts(text)
    known = {name for entry in mine for name in _names(entry)}
    for entry in _parts(base)[1]:
        missing = [name for name in _names(entry) if name not in known]
        if missing:
            mine.append(", ".join(missing) + entry[len(entry.partition(" :")[0]) :])
    return f"{head}{SECTION}{''.join(mine).rstrip()}\n{tail}".rstrip()


def _parts(text: str) -> tuple[str, list[str], str]:
    """The text before the section of attributes, its entries, and the rest."""
    head, _, rest = text.partition(SECTION)
    body, blank, tail = rest.partition("\n\n")
    return head, [entry.rstrip("\n") + "\n" for entry in _ENTRY.split(body) if entry], blank[:1] + tail


def _names(entry: str) -> list[str]:
    """Names that an entry documents."""
    return entry.partition(" :")[0].splitlines()[0].split(", ")
