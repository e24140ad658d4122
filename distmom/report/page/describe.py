"""The profile of a lake: columns, and who breaks them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distmom.report.describe_text import advice as closing
from distmom.report.describe_text import how_many, share_of_others, source_cells, sources_of
from distmom.report.digits import fixed, fixed_span, in_digits
from distmom.report.page.numbers import LAWS, UNSEEN
from distmom.report.page.parts import Advice, Block, Ends, Facts, Grid, Mood, Picture, Span, Spans, Story
from distmom.report.page.scales import Numbers
from distmom.report.page.telling import (
    Telling,
    advice,
    closing_blocks,
    heading,
    mood,
    notes,
    shown_facts,
    verdict,
)
from distmom.report.text import as_table
from distmom.report.words import cell, listed

if TYPE_CHECKING:
    from distmom.report.column_profile import ColumnProfile
    from distmom.report.describe_result import DescribeResult

MOST_SOURCES, MOST_NAMED = 10, 30


def tell_profile(r: ColumnProfile) -> Telling:
    """One column."""
    name = heading(r)
    estimate, interval, plain, std, *_ = (text.strip() for text in r.lines()[0][1])
    if estimate == "-":
        answer = f"{name} ({r.type}) was counted only: {r.n_rows:,} rows."
    else:
        reach = f" ({interval})" if interval != "-" else ""
        answer = f"The mean of {name} is {estimate}{reach}, its standard deviation {std}; plain mean {plain}."
    return Telling(name, (answer,), shown_facts(r), tuple(_shares(r)), (LAWS, UNSEEN), mood(r), advice(r, ()))


def story(found: DescribeResult) -> Story:
    """The report."""
    profiles = list(found.columns.values())
    outside = [p for p in profiles if p.leaves_interval]
    gravest, words = verdict(found)
    word: Mood = "bad" if gravest == "bad" else "look" if outside or found.named else "good"
    if found.named:
        first = f"{how_many(found)} hold{'s' if len(found.named) == 1 else ''} other values than the rest"
        first += f", and {_columns([p.column for p in outside])}." if outside else "."
    elif outside:
        first = f"Nobody stands out, but {_columns([p.column for p in outside])}."
    else:
        first = f"All {len(profiles):,} columns look sound: "
        first += "no plain mean leaves its robust interval and no file stands out."
    answer = [first]
    if outside:
        p = outside[0]
        told = p.lines()[0][1]
        answer.append(
            f"For example, the plain mean of {cell(p.column)} is {told[2]}; the robust one is {told[0]}, "
            f"with a {100 * p.confidence_level:.6g} % interval of {told[1].replace(' … ', ' to ')}."
        )
    sources = [s for p in outside for s in p.sources if s.kind == "file"]
    if sources and outside[0].sources[0].share is not None:
        top = outside[0].sources[0]
        answer.append(
            f"{100 * (top.share or 0.0):.0f} % of that gap comes from the {top.n_used:,} rows of "
            f"{cell(top.name)}."
        )
    columns = Grid.of(
        "The columns",
        as_table(found),
        [r.doubtful or r.leaves_interval for r in profiles],
        "mean and std are robust (medians over blocks); a marked column has wild values. A plain mean "
        "outside of the interval is carried by few rows or files.",
    )
    blocks: list[Block] = [_advice(found, word), *_named(found), *pictures(found), columns]
    after = closing_blocks(found, (*_ASSUMED, LAWS, UNSEEN))
    return Story("Robust profile of a lake", tuple(answer), word, words, tuple(blocks), (), after)


_ASSUMED = (
    "Rows are independent and most of them come from one law of finite variance; files of one kind are "
    "alike: a file is named if it differs from the typical one by more than 8 times the spread between "
    "files (6 for another unit).",
    "The shares of a gap add up over all files: n_f/n (mean of the file - robust mean). Shares above 100 % "
    "and below 0 mean that files pull in opposite directions.",
)


def pictures(found: DescribeResult) -> list[Picture]:
    """Who carries the gaps."""
    return [picture for p in found.columns.values() for picture in _shares(p)]


def _columns(names: list[str]) -> str:
    names = [cell(name) for name in names]
    if len(names) == 1:
        return f"the plain mean of {names[0]} is not to be trusted"
    return f"the plain means of {listed(names)} are not to be trusted"


def _advice(found: DescribeResult, mood: Mood) -> Advice:
    lines = [line[0].upper() + line[1:] + "." for line in closing(found)]
    outside = [p for p in found.columns.values() if p.leaves_interval]
    if outside and found.named:
        names = listed(cell(p.column) for p in outside)
        lines.append(f"Until then use the robust mean of {names}, not the plain one.")
    elif outside:
        lines.append("Use the robust means where the plain ones leave their interval.")
    return Advice(mood, "What to do", (*lines, *notes(found)))


def _named(found: DescribeResult) -> list[Block]:
    """Who stands out, and in what."""
    rows = []
    for unit in found.named[:MOST_NAMED]:
        reasons = [f"{cell(reason.column)}: {cell(reason.words)}" for reason in unit.reasons]
        text = "\n".join([*reasons, *map(cell, unit.parts)])
        rows.append((f"{cell(unit.name)} ({unit.n_rows:,} rows)", text))
    n = len(found.named)
    if n > MOST_NAMED:
        rows.append((f"{n - MOST_NAMED:,} more", "are in the JSON document"))
    head = f"{n:,} to look into" if n > 1 else "One to look into"
    return [Facts(head, tuple(rows))] if rows else []


def _bar(share: float | None) -> Ends:
    low, high = sorted((0.0, share or 0.0))
    return low, high


def _shares(p: ColumnProfile) -> list[Picture]:
    """For each kind of source, the shares of the gap."""
    found: list[Picture] = []
    for kind in ("file", "folder", "unit"):
        mine = [s for s in sources_of(p, kind) if s.share is not None]
        if not mine:
            continue
        lines = []
        for s in mine[:MOST_SOURCES]:
            share, rows, mean = source_cells(p, s)
            lines.append(Span(cell(s.name), f"{share}: {rows} rows, mean {mean}", None, _bar(s.share)))
        rest = share_of_others(mine[:MOST_SOURCES])
        if rest is not None:
            lines.append(Span(f"the other {kind}s", f"{100 * rest:.1f} %", None, _bar(rest)))
        numbers = p.numbers
        decimals = in_digits(*(numbers.interval or (None, None)))
        gap = ""
        if p.scale is None:
            gap = (
                f"Plain mean {fixed(p.plain_estimate, decimals)}, robust {fixed(p.estimate, decimals)} "
                f"({fixed_span(p.interval, decimals)}). "
            )
        found.append(
            Spans(
                f"Which {kind}s move the plain mean of {cell(p.column)}",
                f"{gap}Bars are shares of the difference between the plain and the robust mean.",
                tuple(lines),
                Numbers(percent=True),
                ("", "share of the gap", ""),
            )
        )
    return found
