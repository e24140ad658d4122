"""Results that are one number from blocks: means, U-statistics, differences."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from distmom.report.digits import three
from distmom.report.estimate import EstimateResult
from distmom.report.kinds.difference import DifferenceResult
from distmom.report.kinds.mean import MeanResult
from distmom.report.kinds.ustatistic import UStatisticResult
from distmom.report.page.advice import advice
from distmom.report.page.blocks import assumptions, block_facts, how_made, is_median, meaning
from distmom.report.page.distribution import distribution
from distmom.report.page.pictures import AxisScale, Curve, Ends, Line, Picture, Span, Spans, Strip
from distmom.report.page.scales import Numbers, Powers, Times, titled
from distmom.report.page.telling import Telling, heading, interval_words, mood
from distmom.report.words import cell, number
from distmom.status import Status

KINDS = {
    "order": "between two of the sorted block values (order statistics)",
    "cantelli": "Cantelli bound with the variance of the blocks",
    "clusters": "cluster-robust, from the variance between clusters of correlated rows",
    "closed-form": "closed-form bound of the proposition",
}


def tell_mean(r: MeanResult) -> Telling:
    """A mean of numbers or times."""
    told = _tell(r, f"the {'weighted ' if r.weights else ''}mean of {cell(r.column)}", _mean_facts(r))
    return replace(told, pictures=(*told.pictures, *distribution(r)))


def tell_ustat(r: UStatisticResult, subject: str = "") -> Telling:
    """A U-statistic; `subject` describes it if its kernel and column do not."""
    weighted = "weighted " if r.weights else ""
    subject = subject or f"the {weighted}{cell(r.kernel)} statistic of {cell(r.column)}"
    facts = [("samples", ", ".join(map(cell, r.samples)))] if r.samples else []
    facts.append(("pairs of rows", f"{r.pairs}; {number(float(r.n_pairs))} evaluated or summed"))
    told = _tell(r, subject, facts)
    if Status.FILES_DISAGREE not in r.flags or r.accused_files:  # these were left out
        return told
    spoiled = (
        "Do not use this number: corrupt files affect every random block. "
        f"Run again with {r.remedies.files}, where a corrupt file affects one block only.",
    )
    return replace(told, answer=told.answer[:2], mood="bad", do=(*spoiled, *told.do[1:]))


def tell_difference(r: DifferenceResult) -> Telling:
    """Two variants compared."""
    control = span(cell(r.control), r.control_mean, r.control_interval, r.plain_control)
    variant = span(cell(r.variant), r.variant_mean, r.variant_interval, r.plain_variant)
    what = cell(r.metric) if r.denominator is None else f"{cell(r.metric)} / {cell(r.denominator)}"
    facts = [
        ("lift", span("", r.lift, r.lift_interval, r.plain_lift).text),
        (f"{variant.name} (variant)", variant.text),
        (f"{control.name} (control)", control.text),
        ("rows used", f"{r.n_used_variant:,} of {variant.name}, {r.n_used_control:,} of {control.name}"),
    ]
    if r.n_units_in_both is not None:
        about = "" if r.n_units_exact else "about "
        facts.append(("units in both variants", f"{about}{r.n_units_in_both:,}"))
    told = _tell(r, f"the difference in {what}, {variant.name} minus {control.name},", facts)
    caption = f"Robust means with their {r.level} intervals."
    words = ("robust mean", "interval", "sample mean")
    axis = titled(f"mean of {what}", Numbers(), **_unit(r))
    sides = Spans(f"{what} of the two", caption, (control, variant), Numbers(), words, axis)
    return replace(told, answer=(*told.answer, _verdict(r)), pictures=(*told.pictures, sides))


def _verdict(r: DifferenceResult) -> str:
    if r.interval is None:
        return "Without an interval, the data do not show which variant is higher."
    if r.interval[0] > 0.0 or r.interval[1] < 0.0:
        word = "higher" if r.interval[0] > 0.0 else "lower"
        return f"The interval excludes 0: {cell(r.variant)} is {word}."
    return "The interval includes 0, so the data do not show which variant is higher."


def _tell(r: EstimateResult, subject: str, more: list[tuple[str, str]]) -> Telling:
    """Present an estimate that is one number, named `subject`; `more` are facts about it."""
    name = heading(r)
    of_group = f" ({name.split(' | ', 1)[1]})" if r.group else ""
    answer, facts = _answer(r, f"{subject}{of_group}"), (*_facts(r), *more)
    return Telling(name, answer, facts, _pictures(r), assumptions(r), mood(r), advice(r))


def _answer(r: EstimateResult, subject: str) -> tuple[str, ...]:
    estimate, interval, plain = (text.strip() for text in r.shown_values())
    if estimate == "-":
        return (f"There is no estimate of {subject}.",)
    reach = interval_words(r.level, interval, r.interval_reason)
    sentences = [f"{subject[0].upper()}{subject[1:]} is {estimate} ({reach})."]
    if r.n_blocks > 1:
        numbers = r.numbers
        if numbers.interval is not None and plain != "-":
            low, high = numbers.interval
            outside = not low <= numbers.plain_estimate <= high
            sentences.append(
                f"The {r.drawn[1]} of all rows is {plain}, outside that interval: outliers pull it away."
                if outside
                else f"The {r.drawn[1]} of all rows, {plain}, lies inside that interval."
            )
    return tuple(sentences)


def _facts(r: EstimateResult) -> list[tuple[str, str]]:
    estimate, interval, plain = (text.strip() for text in r.shown_values())
    level, kind, reached = r.level, KINDS.get(r.interval_kind), r.actual_level
    facts = [("estimate", estimate), (f"{level} interval", interval if interval != "-" else "none")]
    if interval != "-":
        facts.append(("meaning of the interval", meaning(r)))
    if kind and interval != "-":
        facts.append(("kind of interval", kind))
    if reached is not None:
        facts.append(("actual confidence level", f"{100 * reached:.4g}%; requested: at least {level}"))
    facts.append((r.drawn[1], plain))
    if r.n_blocks > 1 and estimate != "-":
        facts.append(("method", how_made(r)))
    return facts + block_facts(r)


def _mean_facts(r: MeanResult) -> list[tuple[str, str]]:
    facts: list[tuple[str, str]] = []
    if r.other_estimate is not None:
        other = r.numbers.other_estimate
        text = three(other, None, None)[0].strip() if r.scale is None else Times(r.scale).text(other)
        what = "random rows" if r.by_files else "whole files"
        facts.append((f"with blocks of {what}", f"{text}: compared, not used"))
    if r.without_extremes and not r.ok:
        means = (f"{r.shown_number(one.mean)} ({100 * one.share:g}%)" for one in r.without_extremes)
        facts.append(("mean without the most extreme rows", ", ".join(means)))
    if r.n_units is not None:
        facts.append(("units", f"{'' if r.n_units_exact else 'about '}{r.n_units:,}"))
    if r.n_effective is not None:
        facts.append(("effective rows", f"{r.n_effective:,.0f} (weights: {cell(r.weights)})"))
    return facts


def _pictures(r: EstimateResult) -> tuple[Picture, ...]:
    numbers, (what, plain_word) = r.numbers, r.drawn
    column = getattr(r, "scale", None)
    scale: AxisScale = Numbers() if column is None else Times(column)
    values = np.asarray(numbers.block_estimates, float)
    if values.ndim != 1 or values.size < 1:
        return ()
    head = f"The {what} of the {values.size:,} blocks" if values.size > 1 else "One block"
    near = "is" if is_median(r) else "lies near"
    caption = "Each dot is a block; its vertical position is jitter. "
    caption += f"The estimate {near} the median of the blocks."
    caption += " Blocks that were left out are not drawn." if r.n_screened_out else ""
    ends = None if r.interval is None else numbers.interval
    found = float(numbers.estimate), ends, float(numbers.plain_estimate)
    words = (what if r.repeats == 1 else f"{what}, {r.repeats} partitions", plain_word)
    title = _axis(r, scale)
    strip = Strip(
        head, caption, values, *found, scale, *words, r.confidence_level, r.n_non_finite_blocks, title
    )
    ladder = ladder_of(numbers, scale, title, by_files=r.by_files)
    return (strip,) if ladder is None else (strip, ladder)


def _axis(r: EstimateResult, scale: AxisScale) -> str:
    """The title of an axis of estimates."""
    if isinstance(r, UStatisticResult):
        return titled(f"{cell(r.kernel)} of {cell(r.column)}", scale, "")
    if isinstance(r, DifferenceResult):
        return titled(f"difference in {cell(r.metric)}", scale, **_unit(r))
    return titled(f"mean of {cell(r.name)}", scale)


def _unit(r: DifferenceResult) -> dict[str, str]:
    """The unit; that of a ratio is not known here."""
    return {} if r.denominator is None else {"unit": ""}


def ladder_of(numbers: Any, scale: AxisScale, title: str, *, by_files: bool) -> Curve | None:
    """Estimate and margin of error for every number of blocks that was tried."""
    if len(numbers.path) < 2:
        return None
    blocks, estimates, halves = (np.array(column, float) for column in zip(*numbers.path, strict=True))
    level = (float(numbers.estimate), "estimate") if np.isfinite(numbers.estimate) else None
    heading, word = "Does the number of blocks matter?", "estimate and interval with so many blocks"
    caption = (
        "If the dots agree within their bars, the number of blocks does not matter. Many outliers pull a few "
        "large blocks (left) away, but not many small ones (right)."
    )
    if by_files:
        heading = "Why whole files, and not random rows?"
        word = "from random blocks of rows, not used"
        caption = (
            "Dots and bars are estimates from random blocks of rows. A corrupt file has rows in all of these "
            "blocks, whatever their number. The line is the estimate of this report: it keeps files whole, "
            "so that a corrupt file affects one block only."
        )
    lines = (Line(word, blocks, estimates, halves, points=True),)
    places, names = Powers(tuple(blocks.tolist())), ("number of blocks (log scale)", title)
    return Curve(heading, caption, lines, *names, places, scale, log_x=True, level=level)


def span(name: str, estimate: float, ends: Ends | None, plain: float) -> Span:
    """An estimate with its interval and the plain estimate as a line of a picture."""
    shown, interval, plainly = three(estimate, ends, plain)
    return Span(name, f"{shown} ({interval}), plain {plainly}", estimate, ends, plain)
