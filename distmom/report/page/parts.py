"""The parts of a report: tables, words and pictures, independent of their display."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rich.table import Table

from distmom.report.page.pictures import Picture

Mood = Literal["good", "look", "bad"]
"""Nothing to do; needs attention; not to be used."""
TALL_ROWS = 20
"""Tables with more rows scroll within the page."""

MOODS: tuple[Mood, ...] = ("bad", "look", "good")


NOTES = "Notes"
"""The heading of what a reader should know besides."""


@dataclass(frozen=True)
class Advice:
    """What to do, in sentences, under a coloured heading."""

    mood: Mood
    heading: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Facts:
    """Names and their values; with `names` the names are the subject, such as files."""

    heading: str
    rows: tuple[tuple[str, str], ...]
    caption: str = ""
    names: bool = False
    folded: bool = False


@dataclass(frozen=True)
class Listing:
    """Sentences as a list, or names in columns."""

    heading: str
    lines: tuple[str, ...]
    caption: str = ""
    names: bool = False
    folded: bool = False


@dataclass(frozen=True)
class Code:
    """Lines to copy, each with a description.

    Attributes
    ----------
    heading : str
    lines : tuple of (str, str)
    files : tuple of (str, str)
        Names and contents of the files that the lines need.
    folded : bool
        Whether it is collapsed until a reader opens it; the same for all parts.
    """

    heading: str
    lines: tuple[tuple[str, str], ...]
    files: tuple[tuple[str, str], ...] = ()
    folded: bool = False


@dataclass(frozen=True)
class Grid:
    """A table.

    Attributes
    ----------
    heading : str
    headers : tuple of str
    right : tuple of bool
        Columns of numbers.
    rows : tuple of tuple of str
    marked : tuple of bool
        Rows that need attention.
    caption : str
    folded : bool
    """

    heading: str
    headers: tuple[str, ...]
    right: tuple[bool, ...]
    rows: tuple[tuple[str, ...], ...]
    marked: tuple[bool, ...]
    caption: str = ""
    folded: bool = False

    @staticmethod
    def of(heading: str, table: Table, marked: Sequence[bool] | None = None, caption: str = "") -> Grid:
        """A table as on the terminal, but with the status before the numbers, where it is easy to see."""
        columns = list(table.columns)
        if columns and columns[-1].header == "status":
            first = next((i for i, column in enumerate(columns) if column.justify == "right"), 0)
            columns.insert(max(first, 1), columns.pop())
        rows = tuple(zip(*(map(str, column.cells) for column in columns), strict=True))
        headers = tuple(str(column.header) for column in columns)
        right = tuple(column.justify == "right" for column in columns)
        return Grid(heading, headers, right, rows, tuple(marked or (False,) * len(rows)), caption)


Block = Advice | Facts | Listing | Code | Grid | Picture


@dataclass(frozen=True)
class Section:
    """Blocks under their own heading: one of several results. The first sentence shows when collapsed."""

    heading: str
    answer: tuple[str, ...]
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Story:
    """A whole report.

    Attributes
    ----------
    title : str
    answer : tuple of str
        The result in sentences, the first one in large letters.
    mood, verdict : str
        How reliable it is, and the status in words.
    blocks : tuple
    sections : tuple of Section
    after : tuple
        Blocks below the sections: data, assumptions, how to run it again.
    folded : bool
        Whether the sections are collapsed until a reader opens them.
    """

    title: str
    answer: tuple[str, ...]
    mood: Mood
    verdict: str
    blocks: tuple[Block, ...]
    sections: tuple[Section, ...] = ()
    after: tuple[Block, ...] = ()
    folded: bool = False
