"""What reports say of the blocks of an estimate: how they were made, what they bear, what they rest on."""

from __future__ import annotations

import numpy as np

from distmom.report.estimate import EstimateResult
from distmom.report.far_rows import far_words
from distmom.report.page.advice import asked_again

UNSEEN = (
    "Many bad values that are each only a little off do not stand out: they move this average as any other."
)
DISTRIBUTIONS = (
    "No method can promise an interval for all data: values so rare and so large that these rows hold none "
    "of them cannot be allowed for. Where such values matter, take the interval as too short."
)
"""For what no interval can be promised; heavy tails are the reason."""


def how_made(r: EstimateResult) -> str:
    """What a median over blocks is."""
    what = r.drawn[0]
    name = "a median of means" if what == "means" else "a median over blocks"
    whole = "the" if r.blocks_of == "rows" else "whole"
    drawn = r.by_files or not (r.design.sampled or r.design.stored)
    first = f"{whole} {r.blocks_of} were dealt at random into" if drawn else "the rows made"
    if r.n_screened_out:
        n = f"{r.n_screened_out:,} of which lay far from all others and were"
        first += f" small blocks, {n} left out; the rest make"
    if is_median(r):
        each = f"Each block has its {what.removesuffix('s')}, and the answer is the middle one."
        return f"It is {name}: {first} {r.n_blocks:,} blocks{_size(r)}. {each}"
    return (
        f"It is a robust mean: {first} {r.n_blocks:,} blocks{_size(r)}. The answer lies near the middle one "
        f"of their {what}, where those of smaller blocks balance; none of these can pull it far."
    )


def is_median(r: EstimateResult) -> bool:
    """Whether the answer is the median of the blocks shown: of a given number, or where both are the same."""
    blocks = np.atleast_1d(np.asarray(r.numbers.block_estimates, float))
    answer = np.asarray(r.numbers.estimate, float)
    if not blocks.size or blocks.shape[1:] != answer.shape or not np.isfinite(answer).all():
        return True
    return bool(np.equal(np.sort(blocks, axis=0)[(len(blocks) - 1) // 2], answer).all())


def meaning(r: EstimateResult) -> str:
    """An interval in one sentence: how often intervals made this way are right, about what."""
    often = (
        f"If this were repeated on fresh data of the same kind, at least {r.level} of such intervals would"
    )
    if r.interval_kind == "order":
        return (
            f"{often} hold the middle value that such blocks have in the long run, which for large blocks is "
            "nearly the true value; see 'Assumptions'."
        )
    return f"{often} hold the true value, under the assumptions below."


def block_facts(r: EstimateResult) -> list[tuple[str, str]]:
    """The blocks, what they bear, and which rows lie far out."""
    repeats = f", in each of {r.repeats} random partitions" if r.repeats > 1 else ""
    facts = [("blocks", f"{r.n_blocks:,}{_size(r)}{repeats}"), ("bad rows it withstands", tolerated(r))]
    if r.n_non_finite_blocks:
        facts.append(
            ("non-finite blocks", f"{r.n_non_finite_blocks:,}: their value is infinite or not a number")
        )
    if r.n_screened_out:
        text = f"{r.n_screened_out:,} small blocks of {r.blocks_of} that lay far from all others: left out"
        text += f" before the {r.n_blocks:,} blocks were made, so they are not drawn below"
        facts.append(("screened out", text))
    return facts + [("rows far out", text) for text in far_words(r)]


def _size(r: EstimateResult) -> str:
    low, high = r.block_size
    return f" of {low:,}{f' to {high:,}' if high != low else ''} rows" if high else ""


def tolerated(r: EstimateResult) -> str:
    """Blocks that may be arbitrary while the median lies among the others; what the interval allows for."""
    survived = max(0, -(-r.n_blocks // 2) - 1)
    if not survived:
        return "none"
    what, allowed = r.blocks_of, r.contamination
    stays = "the median is that of a good block" if is_median(r) else "the answer stays near the good ones"
    text = f"while at most {survived:,} of {r.n_blocks:,} blocks are bad, {stays}"
    if not r.design.sampled:
        text += f"; {survived:,} bad {what} can spoil no more"
        text += ", beside those that were screened out" if r.n_screened_out else ""
    if allowed is not None:
        share = isinstance(allowed, float) and allowed < 1.0
        bad = f"{100 * allowed:.4g} %" if share else f"{allowed:,}"
        text += f"; the interval allows for {bad} bad {what}"
    elif not r.n_non_finite_blocks and r.bounded:
        text += f"; the interval is as wide as for good {what}"
        if r.remedies.allowed:
            text += f"; for one that allows for N bad {what} {asked_again(r)} with {r.remedies.allowed}"
    return text


def assumptions(r: EstimateResult) -> tuple[str, ...]:
    """In words, by scheme and kind of interval."""
    clustered = r.interval_kind == "clusters"
    units = "files, folders or stretches of rows that the notes name" if clustered else r.blocks_of
    found = [
        f"The {units} are independent of each other, and all but a minority come from one source "
        "whose values have a finite variance. The estimate is about the mean of that source."
    ]
    if r.design.stored and not r.by_files:
        found.append(
            "The order in which rows are stored does not go with their values: blocks are contiguous rows, "
            "in the order of files and rows."
        )
    elif not r.design.sampled:
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
    elif r.interval_kind == "cantelli":
        found.append(
            "The interval would be right as often as it says if the variance of a row were known. It is "
            "estimated from the same rows, so this holds nearly, and better in larger blocks."
        )
    elif clustered:
        found.append(
            "The interval is cluster-robust: it takes the variance from the spread between these units, with "
            "an allowance for skewness. It holds nearly, and better with more units of similar sizes."
        )
    elif r.interval_kind == "closed-form":
        found.append("The interval is the paper's bound, with a variance estimated from the same rows.")
    return (*found, DISTRIBUTIONS, UNSEEN)
