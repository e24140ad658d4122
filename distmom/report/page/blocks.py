"""What reports say about the blocks of an estimate: how they were formed, what they tolerate and assume."""

from __future__ import annotations

import numpy as np

from distmom.report.estimate import EstimateResult
from distmom.report.far_rows import far_words
from distmom.report.page.advice import asked_again

UNSEEN = (
    "Many values that are each only slightly wrong are not outliers: they move this estimate as they move "
    "any other."
)
DISTRIBUTIONS = (
    "No method has a valid interval for all data: it cannot allow for values so rare and so large that these "
    "rows hold none of them. If such values matter, the interval is too narrow."
)
"""The remark that no interval is valid for every distribution, because of heavy tails."""


def how_made(r: EstimateResult) -> str:
    """How a median over blocks is computed."""
    what = r.drawn[0]
    name = "median of means" if what == "means" else "median over blocks"
    whole = "Whole " if r.blocks_of != "rows" else ""
    assigned = r.by_files or not (r.design.sampled or r.design.stored)
    of = f"{whole}{r.blocks_of}"
    first = f"{of[0].upper()}{of[1:]} were randomly assigned to" if assigned else "The rows make"
    if r.n_screened_out:
        n, were = r.n_screened_out, "was" if r.n_screened_out == 1 else "were"
        first += f" small blocks, of which {n:,} {were} outlying and left out. The others make"
    size = _size(r)
    if is_median(r):
        each = f"The estimate is the median of their {what} (a {name})."
        return f"{first} {r.n_blocks:,} blocks{size}. {each}"
    return (
        f"{first} {r.n_blocks:,} blocks{size}. The estimate is a robust mean of their {what}: it lies near "
        "their median, and no block moves it far."
    )


def is_median(r: EstimateResult) -> bool:
    """Whether the answer is the median of the blocks shown: for a given number, or if both are equal."""
    blocks = np.atleast_1d(np.asarray(r.numbers.block_estimates, float))
    answer = np.asarray(r.numbers.estimate, float)
    if not blocks.size or blocks.shape[1:] != answer.shape or not np.isfinite(answer).all():
        return True
    return bool(np.equal(np.sort(blocks, axis=0)[(len(blocks) - 1) // 2], answer).all())


def meaning(r: EstimateResult) -> str:
    """An interval in one sentence: how often such intervals are correct, and for what."""
    often = f"If this were repeated on fresh data of the same kind, at least {r.level} of the intervals would"
    if r.interval_kind == "order":
        return (
            f"{often} hold the median of such block values in the long run, which for large blocks is nearly "
            "the true value; see 'Assumptions'."
        )
    return f"{often} hold the true value, under the assumptions below."


def block_facts(r: EstimateResult) -> list[tuple[str, str]]:
    """The blocks, what they tolerate, and the outlying rows."""
    repeats = f", in each of {r.repeats} random partitions" if r.repeats > 1 else ""
    facts = [("blocks", f"{r.n_blocks:,}{_size(r)}{repeats}"), ("bad rows tolerated", tolerated(r))]
    if r.n_non_finite_blocks:
        facts.append(
            ("non-finite blocks", f"{r.n_non_finite_blocks:,}: their value is infinite or not a number")
        )
    if r.n_screened_out:
        n = r.n_screened_out
        text = f"{n:,} outlying small block{'s' * (n > 1)} of {r.blocks_of}, before the "
        text += f"{r.n_blocks:,} blocks were made; not drawn"
        facts.append(("screened out", text))
    return facts + [("rows far out", text) for text in far_words(r)]


def _size(r: EstimateResult) -> str:
    low, high = r.block_size
    return f" of {low:,}{f' to {high:,}' if high != low else ''} rows" if high else ""


def tolerated(r: EstimateResult) -> str:
    """How many rows may be arbitrary before the estimate breaks down, and what the interval allows for."""
    survived = max(0, -(-r.n_blocks // 2) - 1)
    if not survived:
        return "none"
    what, allowed = r.blocks_of, r.contamination
    of = f"bad {'blocks' if r.design.sampled else what}"
    text = f"up to {survived:,} {of}{', beside those left out' if r.n_screened_out else ''} (breakdown point)"
    if allowed is not None:
        share = isinstance(allowed, float) and allowed < 1.0
        bad = f"{100 * allowed:.4g}%" if share else f"{allowed:,}"
        text += f"; the interval allows for {bad} bad {what}"
    elif not r.n_non_finite_blocks and r.bounded:
        text += f"; the interval does not account for bad {what}"
        if r.remedies.allowed:
            text += f": for one that does, {asked_again(r)} with {r.remedies.allowed}"
    return text


def assumptions(r: EstimateResult) -> tuple[str, ...]:
    """Assumptions in words, by scheme and kind of interval."""
    clustered = r.interval_kind == "clusters"
    units = "files, folders or stretches of rows that the notes name" if clustered else r.blocks_of
    found = [
        f"The {units} are independent, and all but a minority come from one distribution with finite "
        "variance. The estimate is about the mean of that distribution."
    ]
    if r.design.stored and not r.by_files:
        found.append(
            "The order of the rows is unrelated to their values: blocks are consecutive rows, in the order "
            "of files and rows."
        )
    elif not r.design.sampled:
        found.append("Values do not decide which block a row joins: its place in the data and the seed do.")
    if r.interval_kind == "order":
        found.append(
            "The interval is about the long-run median of such block values. For skewed values it differs "
            "from the true value by at most one standard deviation of a block value, and by far less for "
            "large blocks."
        )
    elif r.interval_kind == "cantelli":
        found.append(
            "The interval would be exact if the variance of a row were known. The variance is estimated from "
            "the same rows, so the level is approximate, and closer in larger blocks."
        )
    elif clustered:
        found.append(
            "The interval is cluster-robust: it uses the variance between these units, with an allowance for "
            "skewness. The level is approximate, and closer with more units of similar size."
        )
    elif r.interval_kind == "closed-form":
        found.append("The interval is the closed-form bound of the proposition, with an estimated variance.")
    return (*found, DISTRIBUTIONS, UNSEEN)
