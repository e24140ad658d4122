"""Pieces of one-line messages; secrets are removed from what is shown or kept."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

STORAGE = "--storage-option"
"""Before a pair of the command line whose value may be a credential."""

_NAMED = re.compile(r"(?i)\b([\w-]*(?:sig|signature|token|secret|password|credential|key))=[^&\s]+")
_USER = re.compile(r"(?<=://)[^/@\s]+@")
_QUERY = re.compile(r"(?<==)[^&=\s]+")


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


def masked(error: BaseException) -> str:
    """The first line of an error, without the values of anything named like a secret."""
    return _NAMED.sub(r"\1=***", first_line(error))


def plain_address(text: str) -> str:
    """A text as it is, an address without user and without the values of its query.

    What stands before the @ of ``abfs://container@account`` is no user.

    Examples
    --------
    >>> plain_address("s3://me:secret@lake?token=x"), plain_address("a = 'b@c'")
    ('s3://lake?token=...', "a = 'b@c'")
    >>> plain_address("abfs://box@account.dfs.core.windows.net/lake")
    'abfs://box@account.dfs.core.windows.net/lake'
    """
    if "://" not in text:
        return text
    scheme = text.partition("://")[0].rpartition(" ")[2].lower()
    if scheme not in ("abfs", "abfss", "az") or ":" in text.partition("://")[2].partition("@")[0]:
        text = _USER.sub("", text)
    return _QUERY.sub("...", text) if "?" in text else text


def plain_words(words: Iterable[str]) -> list[str]:
    """The words of a command line with plain addresses, and storage options without their values.

    Examples
    --------
    >>> plain_words(["mean", "--storage-option", "secret_key=abc", "--storage-option=region=x", "lake"])
    ['mean', '--storage-option', 'secret_key=...', '--storage-option=region=...', 'lake']
    """
    told: list[str] = []
    for word in words:
        if word.startswith(f"{STORAGE}="):
            word = f"{STORAGE}=" + _without_value(word.removeprefix(f"{STORAGE}="))
        word = _without_value(word) if told and told[-1] == STORAGE else plain_address(word)
        told.append(word)
    return told


def _without_value(pair: str) -> str:
    name, separator, _ = pair.partition("=")
    return f"{name}=..." if separator else "..."
