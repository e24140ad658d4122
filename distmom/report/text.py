"""Results as a table for a terminal."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.measure import Measurement
    from rich.table import Table

    from distmom.report.mean_result import MeanResult
    from distmom.report.results import Results


DIGITS = {0: 1e11, 3: 1e8, 6: 1e5}
"""Digits of a second with which times are shown, by the least width of their interval in nanoseconds."""

UNLIMITED = 100_000
"""Columns of a table that is not for a terminal: no line is wrapped."""

NAMED, LINES = 5, 12
"""Names in a remark, and remarks of a kind: a run of many groups should not bury its table."""


def number(value: float | None) -> str:
    """A number with six digits; a dash where there is none."""
    if value is None or math.isnan(value):
        return "-"
    return f"{value:.6g}"


def as_table(results: Results) -> Table:
    """A table of estimate, interval, plain mean and status, with a column for each `by` column."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    names = list(results[0].group or ()) if len(results) else []
    many = len({r.column for r in results}) > 1 or not names
    for name in ["column"] * many + names:
        table.add_column(_cell(name), overflow="fold")
    level = f"{results[0].confidence_level:.6g}" if len(results) else ""
    for name in ("estimate", f"{level} interval", "plain mean", "rows used", "blocks"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("status", overflow="fold")
    for r in results:
        group = [_cell((r.group or {})[name]) for name in names]
        estimate, interval, plain = _values(r)
        table.add_row(
            *([_cell(r.column)] if many else []),
            *group,
            estimate,
            interval,
            plain,
            f"{r.n_used:,}",
            str(r.n_blocks),
            "; ".join(r.status),
            style=None if r.status == ("ok",) else "yellow",
        )
    for column in table.columns:
        if column.no_wrap:  # a number that is cut is another number
            column.min_width = max(map(len, (str(column.header), *map(str, column.cells))))
    return table


def _values(r: MeanResult) -> tuple[str, str, str]:
    """Estimate, interval and plain mean: numbers, or times with digits to fit the width of the interval."""
    numbers = r.numbers
    low, high = (None, None) if r.interval is None or numbers.interval is None else numbers.interval
    shown: Callable[[float | None], str] = number
    if r.scale is not None:
        from distmom.report.times import readable

        digits = 3 if low is None else next((n for n, least in DIGITS.items() if high - low >= least), 9)
        shown = partial(readable, r.scale, digits=digits)
    begin, end = shown(low), shown(high)
    if r.scale is not None and r.scale.kind != "duration" and begin[:11] == end[:11]:  # of one day
        begin, end = begin.removesuffix(end[19:].lstrip(".0123456789")), end[11:]
    interval = "-" if low is None else f"{begin} … {end}"
    return shown(numbers.estimate), interval, shown(numbers.plain_estimate)


def _cell(value: Any) -> str:
    return "null" if value is None else printable(str(value))


def printable(text: str) -> str:
    """The text on one line, without signs that a terminal would obey: they are shown as escapes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def remarks(results: Results) -> list[str]:
    """What a reader should know beside the table, each once: missing rows, bad files, why no interval."""
    same: dict[str, list[str]] = {}
    for r in results:
        name = _cell(r.column)
        if r.group:
            name += f" ({', '.join(_cell(v) for v in r.group.values())})"
        if r.interval is None and r.interval_reason and r.interval_kind != "none":
            same.setdefault(f"no interval: {r.interval_reason}", []).append(name)
        for note in r.notes:
            same.setdefault(note, []).append(name)
        if r.other_estimate is not None:
            text = "blocks of rows tell another story than blocks of files, which are heard"
            same.setdefault(text, []).append(name)
        if r.accused_files:
            files = _listed(map(printable, r.accused_files))
            same.setdefault(f"bad files are among {len(r.accused_files)}: {files}", []).append(name)
    lines = [f"{_listed(names)}: {text}" for text, names in same.items()]
    lines += _left_out(results)
    skipped = [
        f"skipped {printable(s['file'])}: {printable(s['reason'])}" for s in results.data.get("skipped", ())
    ]
    return lines + _state(results) + _shortened(skipped, "files skipped")


def _state(results: Results) -> list[str]:
    """What a saved state spared."""
    state = results.data.get("state")
    if state is None:
        return []
    text = f"{state['n_files_read']:,} files read, {state['n_files_before']:,} known before"
    if state["restarted"]:
        text += f"; everything was read again: {printable(state['restarted'])}"
    return [f"state {printable(state['file'])}: {text}"]


def _left_out(results: Results) -> list[str]:
    """Missing and infinite values of each column, over all groups."""
    lines = []
    for column in dict.fromkeys(r.column for r in results):
        mine = [r for r in results if r.column == column]
        totals = (
            ("null", sum(r.n_null for r in mine)),
            ("NaN", sum(r.n_nan for r in mine)),
            ("infinite", sum(r.n_inf for r in mine)),
            ("without a weight", sum(r.n_unweighted for r in mine)),
            ("of weight zero", sum(r.n_zero_weight for r in mine)),
        )
        found = ", ".join(f"{total:,} {what}" for what, total in totals if total)
        if found:
            lines.append(f"{_cell(column)}: {found} of {sum(r.n_rows for r in mine):,} rows")
    return lines


def _listed(names: Iterable[str]) -> str:
    """The first names, and how many more there are."""
    every = list(names)
    more = f" and {len(every) - NAMED} more" if len(every) > NAMED else ""
    return ", ".join(every[:NAMED]) + more


def _shortened(lines: list[str], what: str) -> list[str]:
    """At most `LINES` lines of a kind."""
    if len(lines) <= LINES:
        return lines
    return [*lines[: LINES - 1], f"… and {len(lines) - LINES + 1:,} more {what}"]


def widths(table: Table) -> Measurement:
    """How wide a table is without line breaks, and at least if no number is cut."""
    from rich.console import Console
    from rich.measure import Measurement

    console = Console(width=UNLIMITED)
    return Measurement.get(console, console.options, table)


def as_text(results: Results, width: int = 110) -> str:
    """The table and the remarks as plain text."""
    return "\n".join([table_text(results, width), *remarks(results)])


def table_text(results: Results, width: int) -> str:
    """The table alone as plain text."""
    return rendered(as_table(results), width)


def rendered(table: Table, width: int) -> str:
    """A table as plain text, as wide as it wants to be where `width` would cut a number."""
    import io

    from rich.console import Console

    out = io.StringIO()
    needed = widths(table)
    width = width if needed.minimum <= width else needed.maximum
    console = Console(file=out, width=width, color_system=None, highlight=False, emoji=False, markup=False)
    console.print(table)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())
