"""The report of one or several results."""

from __future__ import annotations

from typing import Any

import numpy as np

from distmom.report.page.chosen import FILES, chosen, rest_words
from distmom.report.page.parts import TALL_ROWS, Block, Facts, Grid, Section, Story
from distmom.report.page.pictures import Picture, Span, Spans
from distmom.report.page.scales import Numbers, Times, titled
from distmom.report.page.telling import (
    Telling,
    advice_block,
    closing_blocks,
    files_block,
    heading,
    meanings_block,
    notes_block,
    verdict,
)
from distmom.report.result import Result
from distmom.report.results import Results
from distmom.report.text import as_table
from distmom.report.words import cell

MOST_SECTIONS, MOST_OPEN, MOST_GROUPS, MOST_ROWS = 12, 2, 40, 500
"""Most results with their own pictures (those that need attention first), and how many are expanded; most
groups in a picture, and in the table."""


def story(results: Results) -> Story:
    """A report of results of any kind."""
    told = [r.telling() for r in results]
    mood, word = verdict(results, told)
    named = any(getattr(r, "files_named", False) for r in results)
    those = [r for r in results if getattr(r, "files_named", False) == named]
    accused = tuple(dict.fromkeys(f for r in those for f in getattr(r, "accused_files", ())))
    after = closing_blocks(results, [line for one in told for line in one.assumptions])
    advice, notes = (
        (advice_block(told), *files_block(accused, results.run, named=named)),
        notes_block(results),
    )
    first = (_table(results), *advice)
    if len(told) == 1:
        one = told[0]
        title = f"{results[0].kind}: {one.heading}"
        return Story(
            title,
            one.answer,
            mood,
            word,
            (*first, *_figures(one), *notes, *meanings_block(results)),
            (),
            after,
        )
    names = list(dict.fromkeys(cell(r.name) for r in results))
    kinds = results[0].kind if len(results) else results.title
    title = f"{kinds}: {', '.join(names[:3])}{' …' if len(names) > 3 else ''}"
    mine = [told[i] for i in chosen(results, MOST_SECTIONS)]
    sections = tuple(Section(one.heading, one.answer, _figures(one, folded=True)) for one in mine)
    blocks, folded = (*first, *groups(results), *notes, *meanings_block(results)), len(sections) > MOST_OPEN
    return Story(title, _answer(results, told), mood, word, blocks, sections, after, folded)


def _figures(one: Telling, *, folded: bool = False) -> tuple[Block, ...]:
    return (*one.pictures, Facts("Summary", one.facts, folded=folded))


def _answer(results: Results, told: list[Telling]) -> tuple[str, ...]:
    """The joint answer of several results."""
    good = sum(t.mood == "good" for t in told)
    what = "estimate" if any(r.group for r in results) else "result"
    if good == len(told):
        first = f"{len(told):,} {what}s, none of which needs attention."
    else:
        bad = sum(t.mood == "bad" for t in told)
        need = "needs" if len(told) - good == 1 else "need"
        first = f"{len(told) - good:,} of {len(told):,} {what}s {need} attention"
        first += f"; do not rely on {bad:,} of them." if bad else "."
    if len(told) <= 4:
        return (first, *(t.answer[0] for t in told))
    return (first,)


def _table(results: Results) -> Grid:
    mine = [results[i] for i in chosen(results, MOST_ROWS)]
    marked = [r.marked for r in mine for _ in r.lines()]
    said = ["Highlighted rows need attention."] * (any(marked) and len(marked) > 1)
    said += ["Scroll inside the table for more."] * (len(marked) > TALL_ROWS)
    said += [rest_words(results, MOST_ROWS, FILES)]
    table = as_table(Results(mine, results.data, results.run))
    return Grid.of("Results", table, marked, " ".join(said).strip())


def groups(results: Results) -> list[Picture]:
    """For each column with several groups, their intervals one below the other."""
    found: list[Picture] = []
    for name in dict.fromkeys(r.name for r in results):
        mine = [r for r in results if r.name == name and _single(r)]
        if len(mine) > 1:
            found.append(_spans(name, mine))
    differences = [r for r in results if not r.group and hasattr(r, "lift") and _single(r)]
    if len(differences) > 1:
        found.append(_spans("differences", differences))
    return found


def _single(r: Result) -> bool:
    """Whether it is one number."""
    return hasattr(r, "interval") and hasattr(r, "plain_estimate") and np.ndim(r.estimate) == 0


def _spans(name: str, mine: list[Result]) -> Spans:
    scale = getattr(mine[0], "scale", None)
    lines = []
    for r in (mine[i] for i in chosen(mine, MOST_GROUPS)):
        numbers: Any = r.numbers
        estimate, interval, _ = r.shown_values()
        label = heading(r).split(" | ", 1)[-1]
        text = f"{estimate.strip()} ({interval.strip()})"
        lines.append(Span(label, text, numbers.estimate, numbers.interval, numbers.plain_estimate, not r.ok))
    caption = f"Estimates with their intervals. An arrow points to a {mine[0].drawn[1]} outside the picture."
    axis = Numbers() if scale is None else Times(scale)
    where = "All are in the table." if len(mine) <= MOST_ROWS else FILES
    rest = rest_words(mine, MOST_GROUPS, where)
    words = ("estimate", f"{mine[0].level} interval", mine[0].drawn[1])
    caption = f"{caption} {rest}".strip()
    return Spans(cell(name), caption, tuple(lines), axis, words, titled(cell(name), axis))


def pictures(results: Results) -> list[Picture]:
    """The pictures of `Results.plot`: groups one below the other, else the first picture of each result."""
    grouped = groups(results)
    if grouped:
        return grouped
    return [p for r in list(results)[:MOST_SECTIONS] for p in r.telling().pictures[:1]]
