"""Pieces of one-line messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence


def first_line(error: BaseException) -> str:
    """First line of an error's text, or its class where it has none."""
    lines = str(error).strip().splitlines()
    return lines[0].strip() if lines else type(error).__name__


def suggestion(wrong: str, names: Iterable[str]) -> str:
    """``"; did you mean 'amount'?"`` for a misspelled name, else the names there are (at most eight)."""
    known = list(names)
    lower = {name.lower(): name for name in known}
    parts = [part.strip() for part in wrong.split(",")]
    if len(parts) > 1 and set(parts) <= set(known):
        return f"; name each column by itself: {listing(parts)}"
    if wrong.lower() in lower:
        return f"; did you mean {lower[wrong.lower()]!r}?"
    close = [lower[near] for near in difflib.get_close_matches(wrong.lower(), lower, n=2)]
    if close:
        return f"; did you mean {' or '.join(map(repr, close))}?"
    return f"; there is {listing(known)}"


def listing(names: Sequence[str], most: int = 8) -> str:
    """Names in quotes, cut after ``most`` of them."""
    shown = ", ".join(map(repr, names[:most])) or "none"
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
