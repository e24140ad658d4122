"""Words of a command line, quoted as people would."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

PLAIN_IN_DOUBLE = re.compile(r"""[^"$`\\!]*(!(?=[= ])[^"$`\\!]*)*""")
"""Characters that are literal between double quotes, also for a shell with history expansion."""


def joined(words: Iterable[str]) -> str:
    """A command line.

    Examples
    --------
    >>> print(joined(["distmom", "mean", "a b", "--where", "status == 'paid'"]))
    distmom mean 'a b' --where "status == 'paid'"
    """
    return " ".join(map(quoted, words))


def quoted(word: str) -> str:
    """A word quoted for the shell: in double quotes if single quotes are its only special characters."""
    if "'" in word and PLAIN_IN_DOUBLE.fullmatch(word):
        return f'"{word}"'
    return shlex.quote(word)
