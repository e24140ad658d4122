"""Where the keys of a TOML text stand: the parser of the standard library does not tell.

A text that has been parsed without an error is walked once more, statement by statement. Strings, comments
and nested brackets are stepped over with care, since any of them may hold what looks like a key.
"""

from __future__ import annotations

import re
import tomllib

Path = tuple[str, ...]

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_STRINGS = re.compile(r'"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\])*"|\'[^\']*\'', re.DOTALL)
_BLANK = re.compile(r"(?:[ \t\n]|#[^\n]*)*")


def key_lines(text: str) -> dict[Path, int]:
    r"""Line, from 1, of every table and key; those of keys within arrays are their first.

    Parameters
    ----------
    text : str
        Valid TOML with lines that end in a newline sign alone.

    Examples
    --------
    >>> key_lines("a = 1\n[b]\nc.d = 2\n")
    {('a',): 1, ('b',): 2, ('b', 'c'): 3, ('b', 'c', 'd'): 3}
    """
    walk = _Walk(text)
    table: Path = ()
    while walk.skip_blank():
        if text[walk.at] == "[":
            walk.at += 2 if text.startswith("[[", walk.at) else 1
            table = ()
            table = walk.key(table)
            walk.at = text.index("]", walk.at)
            walk.at += 2 if text.startswith("]]", walk.at) else 1
        else:
            walk.assignment(table)
    return walk.lines


class _Walk:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lines: dict[Path, int] = {}
        self._line, self._counted = 1, 0

    def line(self) -> int:
        """Line of the present place."""
        self._line += self.text.count("\n", self._counted, self.at)
        self._counted = self.at
        return self._line

    def skip_blank(self) -> bool:
        """Go to the next sign that means something; whether there is one."""
        found = _BLANK.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return self.at < len(self.text)

    def key(self, table: Path) -> Path:
        """Read a dotted key and note its line for each of its parts."""
        while True:
            self.skip_blank()
            found = _BARE.match(self.text, self.at) or _STRINGS.match(self.text, self.at)
            if found is None:
                raise ValueError(f"no key at {self.at}")
            word = found[0]
            if word[0] in "\"'":
                word = tomllib.loads(f"key = {word}")["key"]
            table = (*table, word)
            self.lines.setdefault(table, self.line())
            self.at = found.end()
            self.skip_blank()
            if not self.text.startswith(".", self.at):
                return table
            self.at += 1

    def assignment(self, table: Path) -> None:
        """Read a key and its value."""
        path = self.key(table)
        self.at = self.text.index("=", self.at) + 1
        self.skip_blank()
        self.value(path)

    def value(self, path: Path) -> None:
        """Step over a value; note the keys of tables written within it."""
        start = self.text[self.at : self.at + 1]
        if start == "{":
            self.at += 1
            while self.skip_blank() and self.text[self.at] != "}":
                if self.text[self.at] == ",":
                    self.at += 1
                else:
                    self.assignment(path)
            self.at += 1
        elif start == "[":
            self.at += 1
            while self.skip_blank() and self.text[self.at] != "]":
                if self.text[self.at] == ",":
                    self.at += 1
                else:
                    self.value(path)
            self.at += 1
        else:
            found = _STRINGS.match(self.text, self.at)
            if found is not None:
                self.at = found.end()
            else:  # a number, a date, a truth value
                while self.at < len(self.text) and self.text[self.at] not in ",]}\n#":
                    self.at += 1
