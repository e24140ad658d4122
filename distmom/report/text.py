"""Results as a table for a terminal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

    from distmom.report.results import Results


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
        table.add_column(name, overflow="fold")
    level = f"{results[0].confidence_level:.6g}" if len(results) else ""
    for name in ("estimate", f"{level} interval", "plain mean", "rows used", "blocks"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("status", overflow="fold")
    for r in results:
        group = [_cell((r.group or {})[name]) for name in names]
        interval = f"{number(r.interval[0])} … {number(r.interval[1])}" if r.interval else "-"
        table.add_row(
            *([r.column] if many else []),
            *group,
            number(r.estimate),
            interval,
            number(r.plain_estimate),
            f"{r.n_used:,}",
            str(r.n_blocks),
            "; ".join(r.status),
        )
    return table


def _cell(value: Any) -> str:
    return "null" if value is None else str(value)


def remarks(results: Results) -> list[str]:
    """What a reader should know beside the table, each once: missing rows, bad files, why no interval."""
    lines: list[str] = []
    for r in results:
        name = r.column if not r.group else f"{r.column} ({', '.join(_cell(v) for v in r.group.values())})"
        if r.interval is None and r.interval_reason and r.interval_kind != "none":
            lines.append(f"{name}: no interval: {r.interval_reason}")
        if r.other_estimate is not None:
            lines.append(
                f"{name}: blocks of rows and blocks of files disagree; the other answer is "
                f"{number(r.other_estimate)}"
            )
        if r.accused_files:
            shown = ", ".join(r.accused_files[:5])
            more = f" and {len(r.accused_files) - 5} more" if len(r.accused_files) > 5 else ""
            lines.append(f"{name}: files that stand out: {shown}{more}")
        lines += [f"{name}: {note}" for note in r.notes]
    for column in dict.fromkeys(r.column for r in results):
        mine = [r for r in results if r.column == column]
        left_out = [
            f"{total:,} {what}"
            for what, total in (
                ("null", sum(r.n_null for r in mine)),
                ("NaN", sum(r.n_nan for r in mine)),
                ("infinite", sum(r.n_inf for r in mine)),
            )
            if total
        ]
        if left_out:
            lines.append(f"{column}: {', '.join(left_out)} of {sum(r.n_rows for r in mine):,} rows")
    for skipped in results.data.get("skipped", ()):
        lines.append(f"skipped {skipped['file']}: {skipped['reason']}")
    return lines


def as_text(results: Results, width: int = 110) -> str:
    """The table and the remarks as plain text."""
    import io

    from rich.console import Console

    out = io.StringIO()
    console = Console(file=out, width=width, color_system=None, highlight=False, emoji=False, markup=False)
    console.print(as_table(results))
    for line in remarks(results):
        console.print(line, soft_wrap=True)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())
