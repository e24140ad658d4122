"""One word looked up in all tables."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from click import HelpFormatter

from distmom.checks import did_you_mean
from distmom.cli.meanings.codes import CODES
from distmom.cli.meanings.intervals import INTERVALS
from distmom.cli.meanings.notes import SUBJECTS
from distmom.errors import ConfigError
from distmom.meanings import STATUSES

WIDTH = 120


class Meaning(NamedTuple):
    """What there is to say about a word.

    Attributes
    ----------
    word, kind : str
        The word, and what it is.
    facts : tuple of (str, str)
        The facts about it, each with a heading.
    """

    word: str
    kind: str
    facts: tuple[tuple[str, str], ...]

    def text(self) -> str:
        """The meaning for a terminal."""
        told = HelpFormatter(max_width=WIDTH)
        told.write(f"{self.word} ({self.kind})\n")
        with told.indentation():
            told.write_dl([(head, _sentence(text)) for head, text in self.facts if text])
        return told.getvalue()


def meanings() -> Iterator[Meaning]:
    """All words that can be explained."""
    for row in STATUSES:
        for status in row.statuses:
            code = str(row.code) if row.code or status.fine else f"0, or 7 with --fail-on '{status}'"
            told = (("Meaning", row.meaning), ("Done", row.done), ("What to do", row.advice()))
            yield Meaning(str(status), "status", (*told, ("Exit code", code)))
    for kind in INTERVALS:
        yield Meaning(kind.word, "interval", (("Meaning", kind.meaning), ("Use", kind.do)))
    for one in SUBJECTS:
        yield Meaning(one.word, "note", (("Meaning", one.meaning), ("What to do", one.do)))
    for number, meaning, do in CODES:
        yield Meaning(str(number), "exit code", (("Meaning", meaning), ("What to do", do)))


def meaning_of(word: str) -> list[Meaning]:
    """The entry of a word, or of all words of a kind, such as ``exit``; ConfigError for an unknown word."""
    asked = " ".join(word.lower().split())
    every = list(meanings())
    near = [one for one in every if asked in one.word or one.word in asked] if len(asked) > 3 else []
    of_kind = [one for one in every if one.kind.split()[0] == asked or one.kind == asked]
    if found := [one for one in every if one.word == asked] or of_kind or near:
        return found
    hint = did_you_mean(asked, [one.word for one in every]) or "; 'distmom explain' lists all words"
    raise ConfigError(f"WORD: {word!r} is not a status, interval, exit code or subject of a note{hint}")


def listing() -> str:
    """All words, with the first words about each."""
    told = HelpFormatter(max_width=WIDTH)
    for kind, found in groupby(meanings(), lambda one: one.kind):
        with told.section(kind.capitalize()):
            firsts = ((one.word, one.facts[0][1].partition(";")[0]) for one in found)
            told.write_dl([(f"{word:26}", _sentence(text)) for word, text in firsts])
    return told.getvalue()


def _sentence(text: str) -> str:
    plain = text.replace("`", "")
    return f"{plain[0].upper()}{plain[1:]}."
