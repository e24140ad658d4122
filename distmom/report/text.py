"""Results as a table for a terminal."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

from distmom.report.of_many import rows_left_out, telling
from distmom.report.results import Results
from distmom.report.words import cell, listed
from distmom.words import counted, printable

UNLIMITED = 100_000
"""Width of a table that is not for a terminal: no line is wrapped."""

MOST_ROWS, MOST_PRINTED, ENDS = 100, 1_000, 25
"""Most results shown as text, and by a command; beyond that only the first and last ones."""

LINES = 12
"""Most remarks of one kind."""


NUMBER = re.compile(r"-?[\d,]+(\.\d+)?")
BETWEEN = " … "


def as_table(results: Results) -> Table:
    """A table of the numbers of each result and its status, with a column for each `by` column."""
    table = empty_table()
    keys = list(results[0].group or ()) if len(results) else []
    many = not keys or len({name for r in results for name, _ in r.lines()}) > 1
    heading = results[0].heading if len(results) else "column"
    for name in [heading] * many + keys:
        table.add_column(cell(name), overflow="fold")
    for name in results[0].headers() if len(results) else ():
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("status", overflow="fold")
    lines = [(r, i, name, numbers) for r in results for i, (name, numbers) in enumerate(r.lines())]
    columns = [aligned(cells) for cells in zip(*(numbers for *_, numbers in lines), strict=True)]
    for (r, i, name, _), numbers in zip(lines, zip(*columns, strict=True), strict=True):
        group = [cell((r.group or {})[key]) for key in keys]
        status = r.words if i == 0 else ""
        style = "yellow" if r.marked else None
        table.add_row(*([cell(name)] if many else []), *group, *numbers, status, style=style)
    return uncut(table)


def empty_table() -> Table:
    """A table for a terminal."""
    return Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)


def uncut(table: Table) -> Table:
    """The table with numbers and paths that are never cut: they would be wrong, or could not be copied."""
    for column in table.columns:
        if column.no_wrap:
            column.min_width = max(map(len, (str(column.header), *map(str, column.cells))))
    return table


@dataclass(frozen=True)
class Remarks:
    """What a reader should know besides the table: missing rows, bad files, why there is no interval.

    Of very many results (`MOST_PRINTED`) only the first, the last and some that accuse files have remarks of
    their own. Each result is queried once, however often and in whatever wording the lines are requested.

    Attributes
    ----------
    results : list of Result
    texts : list of list of str
        The remarks of each result.
    others : list of str
        Lines about all results.
    """

    results: list[Any]
    texts: list[list[str]]
    others: list[str]

    @classmethod
    def of(cls, results: Results) -> Remarks:
        """The remarks of these results."""
        some = telling(results, MOST_PRINTED, ENDS)
        others = [*_left_out(results), *_state(results), *_skipped(results)]
        return cls(some, [r.remarks() for r in some], others)

    def lines(self, said: Callable[[str], str] = str) -> list[str]:
        """Each remark once, reworded by `said`, for example with fewer words."""
        texts = [list(dict.fromkeys(map(said, mine))) for mine in self.texts]
        return each_once(self.results, texts) + self.others

    def changed_by(self, said: Callable[[str], str]) -> bool:
        """Whether this wording differs from that of the results."""
        return any(said(text) != text for mine in self.texts for text in mine)


def _skipped(results: Results) -> list[str]:
    """Files that were left out, and why."""
    lines = [
        f"skipped {printable(s['file'])}: {printable(s['reason'])}" for s in results.data.get("skipped", ())
    ]
    if len(lines) > LINES:
        lines[LINES - 1 :] = [f"… and {counted(len(lines) - LINES + 1, 'more file')} skipped"]
    return lines


def each_once(results: Iterable[Any], texts: Sequence[Sequence[str]]) -> list[str]:
    """Texts about results, each once, after the names of the results concerned."""
    same: dict[str, list[str]] = {}
    for r, mine in zip(results, texts, strict=True):
        name = cell(r.name)
        if r.group:
            name += f" ({', '.join(cell(v) for v in r.group.values())})"
        for text in mine:
            same.setdefault(text, []).append(name)
    return [f"{listed(names)}: {text}" for text, names in same.items()]


def _state(results: Results) -> list[str]:
    """The line about a saved state: files read now, and files known before."""
    state = results.data.get("state")
    if state is None:
        return []
    text = f"{counted(state['n_files_read'], 'file')} read, {state['n_files_before']:,} known before"
    if state["restarted"]:
        text += f"; everything was read again: {printable(state['restarted'])}"
    return [f"state {printable(state['file'])}: {text}"]


def _left_out(results: Results) -> list[str]:
    """Missing and infinite values of each column, over all groups."""
    lines = []
    for name, (n_rows, counts) in rows_left_out(results).items():
        found = ", ".join(f"{total:,} {what}" for what, total in counts.items() if total)
        if found:
            lines.append(f"{cell(name)}: {found} of {n_rows:,} rows")
    return lines


def widths(table: Table) -> Measurement:
    """Width of a table without line breaks, and its minimum without cutting numbers."""
    console = Console(width=UNLIMITED)
    return Measurement.get(console, console.options, table)


def as_text(results: Results, width: int = 110) -> str:
    """The tables and remarks as plain text; for very many results, those of the first and last ones."""
    few, cut = shown(results, MOST_ROWS, "to_arrow(), to_polars() and a loop have all")
    return "\n".join([table_text(few, width), *cut, *Remarks.of(results).lines()])


def shown(results: Results, most: int, ways: str) -> tuple[Results, list[str]]:
    """The results that a table shows, and the lines about the others: the ways to see all of them."""
    if len(results) <= most:
        return results, []
    counts = results.count_statuses()
    told = "; ".join(f"{status} ({n:,})" for status, n in sorted(counts.items(), key=lambda one: -one[1]))
    return results.ends(ENDS), [
        f"first and last {ENDS} of {len(results):,} results, with their notes; {ways}",
        f"status of all: {told}",
    ]


def table_text(results: Results, width: int) -> str:
    """The tables alone as plain text, and what to do."""
    tables = [rendered(table, width) for table in (as_table(results), *results.more_tables())]
    closing = results.closing()
    return "\n\n".join([*tables, "\n".join(closing)] if closing else tables)


def rendered(table: Table, width: int) -> str:
    """A table as plain text, wider than `width` if a number would otherwise be cut."""
    out = io.StringIO()
    needed = widths(table)
    width = width if needed.minimum <= width else needed.maximum
    console = Console(file=out, width=width, color_system=None, highlight=False, emoji=False, markup=False)
    console.print(table)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def aligned(cells: Sequence[str]) -> list[str]:
    """Cells with blanks around their numbers, or the two numbers of an interval; other cells unchanged.

    Examples
    --------
    >>> aligned(["7.1", "-0.39", "1,234", "-", "2e+12"])
    ['7.1 ', '-0.39', '1,234   ', '-', '2e+12']
    >>> aligned(["1.2 … 13.4", "-4 … 3.62"])
    [' 1.2 … 13.4 ', '-4   …  3.62']
    """
    pairs = [cell.split(BETWEEN) for cell in cells]
    if any(len(pair) == 2 for pair in pairs):
        ends = [_points([pair[i] if len(pair) == 2 else "" for pair in pairs]) for i in (0, 1)]
        wide = [max(map(len, end)) for end in ends]
        return [
            cell if len(pair) != 2 else f"{low:>{wide[0]}}{BETWEEN}{high:>{wide[1]}}"
            for cell, pair, low, high in zip(cells, pairs, *ends, strict=True)
        ]
    return _points(cells)


def _points(cells: Sequence[str]) -> list[str]:
    """Pad numbers with blanks to the length of the longest fraction."""
    found = [NUMBER.fullmatch(cell) for cell in cells]
    tails = [len(match[1] or "") if match else 0 for match in found]
    longest = max((tail for tail, match in zip(tails, found, strict=True) if match), default=0)
    return [
        cell + " " * (longest - tail) if match else cell
        for cell, tail, match in zip(cells, tails, found, strict=True)
    ]
