"""The profile of a lake: columns, and the files or units that break them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from distmom.report.far_rows import far_words
from distmom.report.kinds.describe import DescribeResult
from distmom.report.kinds.describe_text import advice as closing
from distmom.report.kinds.describe_text import how_many, share_of_others, source_cells, sources_of
from distmom.report.kinds.profile import ColumnProfile, DiscrepancySource, Quantile
from distmom.report.page.advice import advice
from distmom.report.page.blocks import DISTRIBUTIONS, UNSEEN
from distmom.report.page.distribution import distribution
from distmom.report.page.parts import Advice, Block, Facts, Grid, Mood, Story
from distmom.report.page.pictures import Bars, Ends, Picture, Span, Spans
from distmom.report.page.scales import Numbers, titled
from distmom.report.page.telling import (
    Telling,
    closing_blocks,
    heading,
    leave_out,
    meanings_block,
    mood,
    notes_block,
    shown_facts,
    verdict,
)
from distmom.report.text import as_table
from distmom.report.words import cell, listed

MOST_SOURCES, MOST_NAMED = 10, 30

COLUMNS = (
    "mean and std (standard deviation) are robust: medians over blocks. Highlighted columns need attention: "
    "a sample mean outside the interval is dominated by few rows or files. counted only: no numbers or times."
)
FAR = (
    "Shares are from a uniform sample of the rows. A far value that many rows share is usually a code for a "
    "missing value: the condition leaves it out."
)
QUANTILES = (
    "Quantiles of all rows, outliers included, from a uniform sample of 16,384 rows. A dash: the sample is "
    "too small for that quantile."
)
USUALLY = "'usually' is the median over files."
FACTORS = (
    " Good files differ, too, so a factor gives the order of magnitude only: one change of unit, such as "
    "1,000 or 60,000, shows as different factors."
)


def tell_profile(r: ColumnProfile) -> Telling:
    """One column."""
    name = heading(r)
    estimate, interval, plain, std, *_ = (text.strip() for text in r.lines()[0][1])
    if estimate == "-":
        answer = f"{name} ({r.type}) was counted only: {r.n_rows:,} rows."
    else:
        reach = f" ({interval})" if interval != "-" else ""
        answer = (
            f"The mean of {name} is {estimate}{reach}, its standard deviation {std}; sample mean {plain}."
        )
    facts = [*shown_facts(r), *(("values far outside", text) for text in far_words(r))]
    facts += [(_share(q), _with_interval(r, q)) for q in r.numbers.quantiles]
    drawn = (*distribution(r), *_shares(r))
    return Telling(name, (answer,), tuple(facts), drawn, (DISTRIBUTIONS, UNSEEN), mood(r), advice(r))


def story(found: DescribeResult) -> Story:
    """The report."""
    profiles = list(found.columns.values())
    outside = [p for p in profiles if p.leaves_interval]
    gravest, words = verdict(found, [p.telling() for p in profiles])
    far = [p for p in profiles if p.far_rows is not None]
    word: Mood = "bad" if gravest == "bad" else "look" if outside or found.named or far else "good"
    if found.named:
        first = f"{how_many(found)} hold{'s' if len(found.named) == 1 else ''} other values than the rest"
        first += f", and {_columns([p.column for p in outside])}." if outside else "."
    elif outside:
        first = f"No file was named, but {_columns([p.column for p in outside])}."
    elif far:
        first = f"All sample means lie inside their robust intervals, but {_listed(far)} "
        first += f"ha{'s' if len(far) == 1 else 've'} values far from all others."
    else:
        first = f"All {len(profiles):,} columns look sound: all sample means lie inside their robust "
        first += "intervals, and no file was named."
    answer = [first]
    if outside:
        p = outside[0]
        told = p.lines()[0][1]
        answer.append(
            f"For example, the sample mean of {cell(p.column)} is {told[2]}; the robust one is {told[0]}, "
            f"with a {p.level} interval of {told[1].replace(' … ', ' to ')}."
        )
    sources = [s for p in outside for s in p.sources if s.kind == "file"]
    if sources and outside[0].sources[0].share is not None:
        top = outside[0].sources[0]
        answer.append(
            f"{100 * (top.share or 0.0):.0f} % of the discrepancy comes from {cell(top.name)} alone."
        )
    marked = [not r.ok or r.leaves_interval for r in profiles]
    columns = Grid.of("The columns", as_table(found), marked, COLUMNS)
    files = [*_named(found), *leave_out(found.named_files, found.run)]
    blocks = (
        *(columns, _advice(found, word), *files, *_far(profiles), *pictures(found)),
        *(*_distributions(profiles), *_quantiles(profiles), *notes_block(found), *meanings_block(found)),
    )
    after = closing_blocks(found, (*_ASSUMED, DISTRIBUTIONS, UNSEEN))
    return Story("Robust profile of a lake", tuple(answer), word, words, blocks, (), after)


_ASSUMED = (
    "Rows are independent, and all but a minority come from one distribution with finite variance.",
    "Good files are similar. A file is named if it differs from the typical file by more than 8 times the "
    "usual difference between files (6 times for another unit), and by enough to matter.",
    "The contribution of a file is (its rows / all rows) x (its mean - robust mean) / discrepancy: "
    "over all files the contributions add up to 100%. Contributions below 0 or above 100% mean that "
    "files pull in opposite directions.",
)


def pictures(found: DescribeResult) -> list[Picture]:
    """The sources of the discrepancies."""
    return [picture for p in found.columns.values() for picture in _shares(p, found.named_files)]


def _unseen(kind: str, shown: Sequence[DiscrepancySource], named: Sequence[str]) -> str:
    """Which named files have no bar of their own, and why."""
    bars = {source.name for source in shown[:MOST_SOURCES]}
    missing = [cell(name) for name in named if name not in bars]
    if kind != "file" or not missing:
        return ""
    return (
        " Only files that move the mean towards the sample mean are listed, until they account for 99% "
        "of the discrepancy: "
        f"{listed(missing)} {'is' if len(missing) == 1 else 'are'} among the others."
    )


def _listed(profiles: Sequence[ColumnProfile]) -> str:
    return listed([cell(p.column) for p in profiles])


def _columns(names: list[str]) -> str:
    names = [cell(name) for name in names]
    if len(names) == 1:
        return f"the sample mean of {names[0]} is unreliable"
    names = [*names[:-2], " and ".join(names[-2:])]
    return f"the sample means of {listed(names)} are unreliable"


def _advice(found: DescribeResult, mood: Mood) -> Advice:
    lines = [line[0].upper() + line[1:] + "." for line in closing(found)]
    outside = [p for p in found.columns.values() if p.leaves_interval]
    if leave_out(found.named_files, found.run):
        lines.append(f"Below is how to exclude {'it' if len(found.named_files) == 1 else 'them'}.")
    if outside and not found.named:
        lines.append("Use the robust means where the plain ones leave their interval.")
    return Advice(mood, "What to do", tuple(lines))


def _named(found: DescribeResult) -> list[Block]:
    """Anomalous files and units, and their findings."""
    if not found.named:
        return []
    rows = []
    for unit in found.named[:MOST_NAMED]:
        reasons = [f"{cell(reason.column)}: {cell(reason.words)}" for reason in unit.reasons]
        text = "\n".join([*reasons, *map(cell, unit.parts)])
        rows.append((f"{cell(unit.name)}\n{unit.n_rows:,} rows", text))
    n = len(found.named)
    if n > MOST_NAMED:
        rows.append((f"{n - MOST_NAMED:,} more", "are in the JSON document"))
    head = f"{how_many(found)} to look into"
    scales = any(reason.what == "scale" for unit in found.named for reason in unit.reasons)
    return [Facts(head, tuple(rows), USUALLY + FACTORS * scales, names=True)]


def _far(profiles: Sequence[ColumnProfile]) -> list[Block]:
    """Values that are far from all others."""
    rows = tuple((cell(p.column), cell(text)) for p in profiles for text in far_words(p))
    return [Facts("Values far outside", rows, FAR, names=True)] if rows else []


MOST_DRAWN = 6
"""Most columns whose distribution is drawn: those that need attention come first."""


def _distributions(profiles: Sequence[ColumnProfile]) -> list[Bars]:
    """Distributions of the values of the first columns."""
    far = sorted(profiles, key=lambda p: p.numbers.far_rows is None)
    return [picture for p in far for picture in distribution(p)][:MOST_DRAWN]


IN_TABLE = (0.01, 0.25, 0.5, 0.75, 0.99)
"""Quantiles that fit side by side on a sheet of paper; the others are listed with their column."""


def _quantiles(profiles: Sequence[ColumnProfile]) -> list[Block]:
    """Quantiles of the values of each column."""
    some = [p for p in profiles if p.quantiles]
    if not some:
        return []
    first = [q for q in some[0].quantiles if q.share in IN_TABLE]
    headers = ("column", *map(_share, first), f"{some[0].level} interval of the median")
    rows = []
    for p in some:
        values = [_value(p, q.value) for q in p.numbers.quantiles if q.share in IN_TABLE]
        median = next(q for q in p.numbers.quantiles if q.share == 0.5)
        rows.append((cell(p.column), *values, f"{_value(p, median.low)} … {_value(p, median.high)}"))
    right = (False, *(True for _ in first), True)
    return [
        Grid("How the values are distributed", headers, right, tuple(rows), (False,) * len(rows), QUANTILES)
    ]


def _share(q: Quantile) -> str:
    return "median" if q.share == 0.5 else f"{100 * q.share:.4g}%"


def _value(p: ColumnProfile, value: float) -> str:
    return p.shown_number(value) if math.isfinite(value) else "-"


def _with_interval(p: ColumnProfile, q: Quantile) -> str:
    ends = f"{_value(p, q.low)} to {_value(p, q.high)}"
    return f"{_value(p, q.value)} ({p.level} interval {ends})"


def _bar(share: float | None) -> Ends:
    low, high = sorted((0.0, share or 0.0))
    return low, high


def _shares(p: ColumnProfile, named: Sequence[str] = ()) -> list[Picture]:
    """For each kind of source, the contributions to the discrepancy; `named` are the files that stand out."""
    found: list[Picture] = []
    for kind in ("file", "folder", "unit"):
        mine = [s for s in sources_of(p, kind) if s.share is not None]
        if not mine:
            continue
        lines = []
        for s in mine[:MOST_SOURCES]:
            text = "{}: {} rows with a value, mean {}".format(*source_cells(p, s))
            lines.append(Span(cell(s.name), text, None, _bar(s.share)))
        rest = share_of_others(mine[:MOST_SOURCES])
        if rest is not None:
            lines.append(Span(f"all other {kind}s together", f"{100 * rest:.1f}%", None, _bar(rest)))
        robust, interval, plain = p.shown_values()
        gap = f"Sample mean {plain}, robust {robust} ({interval}). " if p.scale is None else ""
        caption = f"{gap}Bars are contributions to the discrepancy.{_unseen(kind, mine, named)}"
        head, words = (
            f"Which {kind}s move the sample mean of {cell(p.column)}",
            ("", "contribution to the discrepancy", ""),
        )
        scale = Numbers(percent=True)
        found.append(Spans(head, caption, tuple(lines), scale, words, titled(words[1], scale)))
    return found
