"""The tables below the profiles: sources of discrepancies, and anomalous files."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from distmom.report.kinds.describe import DescribeResult
from distmom.report.kinds.profile import ColumnProfile, DiscrepancySource
from distmom.report.text import empty_table, uncut
from distmom.report.times import readable
from distmom.report.words import cell, number

KINDS = ("file", "folder", "unit", "file or unit")
SOURCES, NAMED = 5, 20
"""Most lines of each kind on a terminal; all are in the JSON document."""


def _table(*headers: str) -> Table:
    table = empty_table()
    for name in headers:
        right = name in ("rows", "rows used", "contribution", "mean there")
        whole = right or name in ("comes from", *KINDS)
        table.add_column(name, justify="right" if right else "left", no_wrap=whole, overflow="fold")
    return table


def discrepancy_table(found: DescribeResult) -> Table | None:
    """Files, folders and units that explain the discrepancies; None if there are none."""
    profiles = [p for p in found.columns.values() if p.sources]
    if not profiles:
        return None
    table = _table("sample mean of", "contribution", "rows used", "mean there", "comes from")
    for profile in profiles:
        name = cell(profile.column)
        for kind in KINDS[:3]:
            mine = sources_of(profile, kind)
            for source in mine[:SOURCES]:
                place = f"folder {source.name}" if kind == "folder" else source.name
                table.add_row(name, *source_cells(profile, source), cell(place))
                name = ""
            rest = share_of_others(mine[:SOURCES])
            if rest is not None:
                table.add_row("", f"{100 * rest:.1f}%", "", "", f"the other {kind}s")
    return uncut(table)


def sources_of(profile: ColumnProfile, kind: str) -> list[DiscrepancySource]:
    """Sources of a kind; folders only if they are fewer than half of the files."""
    mine = [s for s in profile.sources if s.kind == kind]
    n_files = sum(s.kind == "file" for s in profile.sources)
    return [] if kind == "folder" and n_files and 2 * len(mine) >= n_files else mine


def share_of_others(shown: Sequence[DiscrepancySource]) -> float | None:
    """Share of the discrepancy not due to the sources shown, so that all add up; None if negligible."""
    shares = [source.share for source in shown if source.share is not None]
    rest = 1.0 - sum(shares)
    return rest if shares and abs(rest) >= 0.0005 else None


def source_cells(profile: ColumnProfile, source: DiscrepancySource) -> tuple[str, str, str]:
    """Contribution, rows and mean of a source."""
    share = "-" if source.share is None else f"{100 * source.share:.1f}%"
    mean = number(source.mean) if profile.scale is None else readable(profile.scale, source.mean, 0)
    return share, f"{source.n_used:,}", mean


def named_table(found: DescribeResult) -> Table | None:
    """Anomalous files and units, and the findings about them; None if there are none."""
    if not found.named:
        return None
    kinds = {unit.kind for unit in found.named}
    table = _table(kinds.pop() if len(kinds) == 1 else "file or unit", "rows", "column", "finding")
    for unit in found.named[:NAMED]:
        name, rows = cell(unit.name), f"{unit.n_rows:,}"
        for reason in unit.reasons:
            table.add_row(name, rows, cell(reason.column), cell(reason.words))
            name = rows = ""
        for part in unit.parts:
            table.add_row("", "", "", cell(part))
    if len(found.named) > NAMED:
        table.add_row(f"{len(found.named) - NAMED:,} more", "", "", "--json names all")
    return uncut(table)


def how_many(found: DescribeResult) -> str:
    """The number of named files or units, in words."""
    kinds, n = {unit.kind for unit in found.named}, len(found.named)
    if len(kinds) > 1:
        return f"{n:,} files and units"
    return f"{n:,} {kinds.pop()}{'s' if n > 1 else ''}"


def advice(found: DescribeResult) -> list[str]:
    """What to do, in a line or two."""
    lines = []
    outside = [p.column for p in found.columns.values() if p.leaves_interval]
    if found.named:
        lines.append(
            f"{how_many(found)} named: correct or exclude them, then run again; until then use robust means"
        )
    elif found.data.get("not_named"):
        lines.append(str(found.data["not_named"]))
    elif not outside:
        lines.append("all sample means lie inside their robust intervals, and no file is anomalous")
    if found.data.get("folders"):
        lines.append("there are so many files that those of one folder were taken together")
    if found.data.get("unread"):
        lines.append(str(found.data["unread"]))
    if broken := found.data.get("left_out"):
        names = ", ".join(repr(one["column"]) for one in broken)
        lines.append(f"damaged, and so left out: {names}")
        lines.extend(one["reason"] for one in broken)
    return lines
