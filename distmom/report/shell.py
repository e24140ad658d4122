"""Words of a command line as people would quote them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

PLAIN_IN_DOUBLE = re.compile(r"""[^"$`\\!]*(!(?=[= ])[^"$`\\!]*)*""")
"""What means itself between double quotes, also for a shell with a history."""


def joined(words: Iterable[str]) -> str:
    """A command line.

    Examples
    --------
    >>> print(joined(["distmom", "mean", "a b", "--where", "status == 'paid'"]))
    distmom mean 'a b' --where "status == 'paid'"
    """
    return " ".join(map(quoted, words))


def quoted(word: str) -> str:
    """A word that the shell takes as it is: in double quotes if it has single ones and nothing else."""
    if "'" in word and PLAIN_IN_DOUBLE.fullmatch(word):
        return f'"{word}"'
    return shlex.quote(word)
