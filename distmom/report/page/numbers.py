"""Results that are one number from blocks: means, U-statistics, differences."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from distmom.report.digits import three
from distmom.report.page.parts import Curve, Line, Picture, Scale, Span, Spans, Strip
from distmom.report.page.scales import Numbers, Powers, Times
from distmom.report.page.telling import Telling, advice, heading, interval_words, mood
from distmom.report.words import BY_FILES, cell

if TYPE_CHECKING:
    from distmom.report.kinds.difference import DifferenceResult
    from distmom.report.kinds.mean import MeanResult
    from distmom.report.kinds.ustatistic import UStatisticResult

KINDS = {
    "order": "between two of the sorted block values (order statistics)",
    "exact": "a bound from the spread that the blocks show",
    "paper": "closed form of the paper",
}
UNSEEN = (
    "Many bad values that are each only a little off do not stand out: they move this average as any other."
)
LAWS = (
    "No method can promise an interval for all data: values so rare and so large that these rows hold none "
    "of them cannot be allowed for. Where such values matter, take the interval as too short."
)
"""For what no interval can be promised; heavy tails are the reason."""


def tell_mean(r: MeanResult) -> Telling:
    """A mean of numbers or times."""
    scale = Numbers() if r.scale is None else Times(r.scale)
    subject = f"the {'weighted ' if r.weights else ''}mean of {cell(r.column)}"
    blocks = "means" if r.repeats == 1 else f"means, {r.repeats} partitions"
    return _tell(r, r.numbers, r.shown_values(), subject, scale, blocks, "plain mean", _mean_facts(r))


def tell_ustat(r: UStatisticResult, subject: str = "") -> Telling:
    """A U-statistic; `subject` says what it is where its kernel and column do not."""
    weighted = "weighted " if r.weights else ""
    subject = subject or f"the {weighted}{cell(r.kernel)} statistic of {cell(r.column)}"
    blocks = "statistics" if r.repeats == 1 else f"statistics, {r.repeats} partitions"
    facts = [("pairs of rows", f"{r.pairs}; {float(r.n_pairs):,.6g} evaluated or summed")]
    shown = three(r.estimate, r.interval, r.plain_estimate)
    told = _tell(r, r, shown, subject, Numbers(), blocks, "plain statistic", facts)
    if "files disagree" not in r.status:
        return told
    spoiled = (
        "Whole files hold other values than the rest, which spoils all random blocks: do not use this "
        "number. Run again with blocks=FileBlocks() (--block-by file): a bad file spoils one block only.",
    )
    return replace(told, answer=told.answer[:2], mood="bad", do=(*spoiled, *told.do[1:]))


def tell_difference(r: DifferenceResult) -> Telling:
    """Two variants compared."""
    control, variant = cell(r.control), cell(r.variant)
    what = cell(r.metric) if r.denominator is None else f"{cell(r.metric)} / {cell(r.denominator)}"
    facts = [
        ("lift", joined(three(r.lift, r.lift_interval, r.plain_lift))),
        (f"{variant} (variant)", joined(three(r.variant_mean, r.variant_interval, r.plain_variant))),
        (f"{control} (control)", joined(three(r.control_mean, r.control_interval, r.plain_control))),
        ("rows used", f"{r.n_used_variant:,} of {variant}, {r.n_used_control:,} of {control}"),
    ]
    shown = three(r.estimate, r.interval, r.plain_estimate)
    subject = f"the difference in {what}, {variant} minus {control},"
    told = _tell(r, r, shown, subject, Numbers(), "differences", "plain difference", facts)
    sides = Spans(
        f"{what} of the two",
        f"Robust means with their {100 * r.confidence_level:.6g} % intervals.",
        tuple(
            Span(name, joined(three(mean, ends, plain)), mean, ends, plain)
            for name, mean, ends, plain in (
                (control, r.control_mean, r.control_interval, r.plain_control),
                (variant, r.variant_mean, r.variant_interval, r.plain_variant),
            )
        ),
        Numbers(),
        ("robust mean", "interval", "plain mean"),
    )
    answer = (*told.answer, _verdict(r))
    return replace(told, answer=answer, pictures=(*told.pictures, sides))


def _verdict(r: DifferenceResult) -> str:
    if r.interval is None:
        return "Without an interval nothing can be said about which variant has the larger value."
    if r.interval[0] > 0.0 or r.interval[1] < 0.0:
        word = "larger" if r.interval[0] > 0.0 else "smaller"
        return f"The interval does not hold 0: the value of {cell(r.variant)} is {word}."
    return "The interval holds 0: these data do not tell which variant has the larger value."


def _tell(
    r: Any,
    numbers: Any,
    shown: tuple[str, str, str],
    subject: str,
    scale: Scale,
    what: str,
    plain_word: str,
    more: list[tuple[str, str]],
) -> Telling:
    name = heading(r)
    of_group = f" ({name.split(' | ', 1)[1]})" if r.group else ""
    level = f"{100 * r.confidence_level:.6g} %"
    return Telling(
        name,
        _answer(r, numbers, shown, f"{subject}{of_group}", level, plain_word, what),
        tuple(_facts(r, shown, level, plain_word, more)),
        _pictures(r, numbers, scale, what, plain_word),
        assumptions(r),
        mood(r),
        advice(r, ()),
    )


def _answer(
    r: Any, numbers: Any, shown: tuple[str, str, str], subject: str, level: str, plain_word: str, what: str
) -> tuple[str, ...]:
    estimate, interval, plain = (text.strip() for text in shown)
    subject = subject[0].upper() + subject[1:]
    if estimate == "-":
        return (f"There is no estimate of {subject[0].lower() + subject[1:]}.",)
    sentences = [f"{subject} is {estimate}; {interval_words(level, interval, r.interval_reason)}."]
    if r.n_blocks > 1:
        sentences.append(_made(r, what.split(",")[0]))
        if numbers.interval is not None and plain != "-":
            low, high = numbers.interval
            outside = not low <= numbers.plain_estimate <= high
            sentences.append(
                f"The {plain_word} of all rows is {plain}, outside of that interval: some rows pull it away."
                if outside
                else f"The {plain_word} of all rows, {plain}, agrees with it."
            )
    return tuple(sentences)


def _made(r: Any, what: str) -> str:
    """What a median over blocks is."""
    low, high = getattr(r, "block_size", (0, 0))
    size = f" of {low:,}{f' to {high:,}' if high != low else ''} rows" if high else ""
    name = "a median of means" if what == "means" else "a median over blocks"
    dealt = "whole files" if by_files(r) else "whole units (or files)" if _units(r) else "the rows"
    drawn = getattr(r, "scheme", "partition") == "partition" and not by_order(r)
    first = f"{dealt} were dealt at random into" if drawn else "the rows made"
    if r.n_set_aside:
        n = f"{r.n_set_aside:,} of which lay far from all others and were"
        first += f" small blocks, {n} left out; the rest make"
    return (
        f"It is {name}: {first} {r.n_blocks:,} blocks{size}. Each block has its "
        f"{what.removesuffix('s')}, and the answer is the middle one."
    )


def by_order(r: Any) -> bool:
    """Whether the blocks are contiguous rows."""
    return str(r.run.get("call", {}).get("arguments", {}).get("blocks", "")).startswith("StoredBlocks")


def by_files(r: Any) -> bool:
    """Whether the blocks hold whole files because these contradict random rows."""
    return any(note.endswith(BY_FILES) for note in r.notes)


def _units(r: Any) -> bool:
    return getattr(r, "n_units", None) is not None or getattr(r, "unit", None) is not None


def _facts(
    r: Any, shown: tuple[str, str, str], level: str, plain_word: str, more: list[tuple[str, str]]
) -> list[tuple[str, str]]:
    estimate, interval, plain = (text.strip() for text in shown)
    kind = KINDS.get(r.interval_kind)
    reached = r.achieved_level
    facts = [("estimate", estimate), (f"{level} interval", interval if interval != "-" else "none")]
    if interval != "-":
        facts.append(("what that means", meaning(r, level)))
    if kind and interval != "-":
        facts.append(("kind of interval", kind))
    if reached is not None:
        facts.append(("confidence reached", f"{100 * reached:.4g} %, at least {level} were asked for"))
    facts.append((plain_word, plain))
    return facts + block_facts(r, given=r.interval is not None) + more


def meaning(r: Any, level: str) -> str:
    """An interval in one sentence: how often intervals made this way are right, about what."""
    often = f"If this were repeated on fresh data of the same kind, at least {level} of such intervals would"
    if r.interval_kind == "order":
        return (
            f"{often} hold the middle value that such blocks have in the long run, which for large blocks is "
            "nearly the true value; see 'What this rests on'."
        )
    return f"{often} hold the true value, if what stands under 'What this rests on' is so."


def block_facts(r: Any, *, given: bool) -> list[tuple[str, str]]:
    """The blocks, and what they bear; `given` is whether there is an interval or radius."""
    facts = [("blocks", _blocks(r)), ("bad rows it withstands", tolerated(r, given=given))]
    if r.n_ruined_blocks:
        facts.append(("ruined blocks", f"{r.n_ruined_blocks:,}: their value is infinite or not a number"))
    if r.n_set_aside:
        facts.append(("set aside", _set_aside(r)))
    return facts


def _set_aside(r: Any) -> str:
    of = "files" if by_files(r) else "units" if _units(r) else "rows"
    return (
        f"{r.n_set_aside:,} small blocks of {of} that lay far from all others: left out before the "
        f"{r.n_blocks:,} blocks were made, so they are not drawn below"
    )


def _blocks(r: Any) -> str:
    low, high = getattr(r, "block_size", (0, 0))
    size = f" of {low:,}{f' to {high:,}' if high != low else ''} rows" if high else ""
    repeats = getattr(r, "repeats", 1)
    return f"{r.n_blocks:,}{size}" + (f", in each of {repeats} random partitions" if repeats > 1 else "")


def tolerated(r: Any, *, given: bool) -> str:
    """Blocks that may be arbitrary while the median lies among the others; what the interval allows for."""
    survived = max(0, -(-r.n_blocks // 2) - 1)
    if not survived:
        return "none"
    scheme = getattr(r, "scheme", "partition")
    what = "files" if by_files(r) else "units (or files)" if _units(r) else "rows"
    text = f"while at most {survived:,} of {r.n_blocks:,} blocks are bad, the median is that of a good block"
    if scheme == "partition":
        text += f"; {survived:,} bad {what} can spoil no more"
        text += ", beside those that were set aside" if r.n_set_aside else ""
    arguments = r.run.get("call", {}).get("arguments", {})
    allowed = arguments.get("contamination")
    if allowed is not None:
        share = isinstance(allowed, float) and allowed < 1.0
        bad = f"{100 * allowed:.4g} %" if share else f"{allowed:,}"
        text += f"; the interval allows for {bad} bad {what}"
    elif not r.n_ruined_blocks and given:
        text += (
            f"; the interval is as wide as for good {what}; for one that allows for N bad {what} run again "
            "with --contamination N (contamination=N)"
        )
    return text


def _mean_facts(r: MeanResult) -> list[tuple[str, str]]:
    facts: list[tuple[str, str]] = []
    if r.other_estimate is not None:
        other = r.numbers.other_estimate
        text = three(other, None, None)[0].strip() if r.scale is None else Times(r.scale).text(other)
        what = "random rows" if by_files(r) else "whole files"
        facts.append((f"with blocks of {what}", f"{text}: compared, not used"))
    if r.n_units is not None:
        facts.append(("units", f"{'' if r.n_units_exact else 'about '}{r.n_units:,}"))
    if r.n_effective is not None:
        facts.append(("effective rows", f"{r.n_effective:,.0f} (weights: {cell(r.weights)})"))
    return facts


def assumptions(r: Any) -> tuple[str, ...]:
    """In words, by scheme and kind of interval."""
    what = "files" if by_files(r) else "units (or files)" if _units(r) else "rows"
    found = [
        f"The {what} are independent of each other, and all but a minority come from one source whose values "
        "have a finite variance. The estimate is about the mean of that source."
    ]
    if getattr(r, "scheme", "partition") == "partition":
        found.append(
            "Blocks were made without looking at the values: where a row or file is stored, and the seed, "
            "decide which block it joins."
        )
    if r.interval_kind == "order":
        found.append(
            "The interval is about the middle of the values that such blocks have in the long run. Where "
            "values are skewed, this middle differs from the true value: by one standard deviation of a "
            "block value at most, and by far less in large blocks."
        )
    elif r.interval_kind == "exact":
        found.append(
            "The interval would be right as often as it says if the variance of a row were known. It is "
            "estimated from the same rows, so this holds nearly, and better in larger blocks."
        )
    elif r.interval_kind == "paper":
        found.append("The interval is the paper's bound, with a variance estimated from the same rows.")
    return (*found, LAWS, UNSEEN)


def _pictures(r: Any, numbers: Any, scale: Scale, what: str, plain_word: str) -> tuple[Picture, ...]:
    values = np.asarray(numbers.block_estimates, float)
    if values.ndim != 1 or values.size < 1:
        return ()
    strip = Strip(
        f"The {what.split(',')[0]} of the {values.size:,} blocks" if values.size > 1 else "One block",
        f"Across: the {what.split(',')[0].removesuffix('s')} of a block, in the unit of the column. A dot is "
        "a block; its height means nothing. The estimate is the median of the dots"
        + (", among which those set aside are not." if r.n_set_aside else "."),
        values,
        float(numbers.estimate),
        numbers.interval if r.interval is not None else None,
        float(numbers.plain_estimate),
        scale,
        what,
        plain_word,
        r.confidence_level,
        r.n_ruined_blocks,
    )
    ladder = ladder_of(numbers, scale, by_files=by_files(r))
    return (strip,) if ladder is None else (strip, ladder)


def ladder_of(numbers: Any, scale: Scale, *, by_files: bool) -> Curve | None:
    """Estimate and half-width at every number of blocks that was tried."""
    if len(numbers.path) < 2:
        return None
    blocks, estimates, halves = (np.array(column, float) for column in zip(*numbers.path, strict=True))
    level = (float(numbers.estimate), "estimate") if np.isfinite(numbers.estimate) else None
    heading, word = "Does the number of blocks matter?", "estimate with so many blocks, bars: its interval"
    caption = (
        "Where the dots agree within their bars, the number of blocks does not matter. Where wild values are "
        "many, few large blocks (left) are pulled away and many small ones (right) are not."
    )
    if by_files:
        heading, word = (
            "Why not random rows? The bad files reach all their blocks",
            "from random rows, not used",
        )
        caption = (
            "The dots are medians over random blocks of rows, with their intervals: a bad file has rows in "
            "all of these blocks and spoils them, whatever their number. The line is the estimate of this "
            "report, for which files were kept whole, so that a bad file spoils one block only."
        )
    return Curve(
        heading,
        caption,
        (Line(word, blocks, estimates, halves, points=True),),
        "number of blocks",
        "estimate",
        Powers(tuple(blocks.tolist())),
        scale,
        log_x=True,
        level=level,
    )


def joined(shown: tuple[str, str, str]) -> str:
    """Estimate, interval and plain estimate on one line."""
    estimate, interval, plain = (text.strip() for text in shown)
    return f"{estimate} ({interval}), plain {plain}"
