"""A plan: ways to take a mean, side by side."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from distmom.report.page.parts import Advice, Block, Facts, Grid, Picture, Span, Spans, Story, Words
from distmom.report.page.scales import Numbers
from distmom.report.page.telling import again_block

if TYPE_CHECKING:
    from distmom.report.plan_result import PlannedWay, PlanResult


def story(found: PlanResult) -> Story:
    """The report."""
    from distmom.report.plan_result import written

    way = found.recommended
    call = written(way.options) or "the defaults"
    level = f"{100 * found.confidence_level:.6g} %"
    answer = [f"For {found.n_rows:,} rows take {way.name} ({call})."]
    width = _width(way)
    of = "a row" if found.kernel is None else f"the kernel {found.kernel}"
    if width:
        answer.append(f"A {level} interval then reaches {width} standard deviations of {of} to both sides.")
    dirty = f", {found.contamination:,} of them arbitrary" if found.contamination else ""
    facts = (
        ("rows", f"{found.n_rows:,}{dirty}"),
        ("confidence level", level),
        ("blocks", f"{way.n_blocks:,} of {way.block_size:,} rows"),
        ("contamination tolerated", f"{way.survives:,} outlying rows leave the answer finite"),
        *((("half-width asked for", f"{found.width:.4g}"),) if found.width is not None else ()),
    )
    table = Grid.of(
        "All ways",
        found.as_table(),
        [w is way for w in found.ways],
        f"The marked way is recommended; {found.remarks()[-1]}.",
    )
    blocks: list[Block] = [
        Advice("good", "What to do", (f"Use {call}: {found.why}.",)),
        Facts("The recommended way", facts),
        *pictures(found),
        table,
        Words(
            "What this rests on",
            (
                f"Half-widths are in standard deviations of {of}, for independent rows of finite variance.",
                "exact: the sharpest bound known here; paper: the closed form; order: about what order "
                "statistics of the block means give for normal block means.",
            ),
        ),
    ]
    if found.run.get("command"):
        blocks.append(again_block(found.run))
    return Story(f"Plan for {found.n_rows:,} rows", tuple(answer), "good", f"take {way.name}", tuple(blocks))


def _width(way: PlannedWay) -> str:
    halves = [h for h in (way.exact, way.order) if h is not None and math.isfinite(h)]
    return f"{halves[0]:.3g}" if halves else ""


def pictures(found: PlanResult) -> list[Picture]:
    """Half-widths of all ways."""
    lines = tuple(_span(way, way is found.recommended) for way in found.ways)
    if not any(line.ends is not None or line.estimate is not None for line in lines):
        return []
    caption = "Shorter is better. A way without a bar has no such bound (vacuous) at this confidence level."
    words = (
        "about the half-width by order statistics",
        "half-width of the exact bound",
        "by the closed form",
    )
    return [Spans("Half-width of each way", caption, lines, Numbers(), words)]


def _span(way: PlannedWay, taken: bool) -> Span:
    exact = way.exact if way.exact is not None and math.isfinite(way.exact) else None
    shown = [f"{w} {v:.3g}" for w, v in (("exact", exact), ("order", way.order), ("paper", way.paper)) if v]
    name = f"{way.name} (recommended)" if taken else way.name
    return Span(
        name, ", ".join(shown) or "no bound", way.order, None if exact is None else (0.0, exact), way.paper
    )
