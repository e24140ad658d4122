"""What reports say of the blocks of an estimate: how they were made, what they bear, what they rest on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distmom.report.words import BY_FILES

if TYPE_CHECKING:
    from distmom.report.estimate import Estimate

UNSEEN = (
    "Many bad values that are each only a little off do not stand out: they move this average as any other."
)
LAWS = (
    "No method can promise an interval for all data: values so rare and so large that these rows hold none "
    "of them cannot be allowed for. Where such values matter, take the interval as too short."
)
"""For what no interval can be promised; heavy tails are the reason."""


def how_made(r: Estimate) -> str:
    """What a median over blocks is."""
    low, high = r.block_size
    size = f" of {low:,}{f' to {high:,}' if high != low else ''} rows" if high else ""
    what = r.drawn[0]
    name = "a median of means" if what == "means" else "a median over blocks"
    dealt = "whole files" if by_files(r) else "whole units (or files)" if r.has_units else "the rows"
    drawn = r.scheme == "partition" and not by_order(r)
    first = f"{dealt} were dealt at random into" if drawn else "the rows made"
    if r.n_set_aside:
        n = f"{r.n_set_aside:,} of which lay far from all others and were"
        first += f" small blocks, {n} left out; the rest make"
    return (
        f"It is {name}: {first} {r.n_blocks:,} blocks{size}. Each block has its "
        f"{what.removesuffix('s')}, and the answer is the middle one."
    )


def by_order(r: Estimate) -> bool:
    """Whether the blocks are contiguous rows."""
    return str(r.run.get("call", {}).get("arguments", {}).get("blocks", "")).startswith("StoredBlocks")


def by_files(r: Estimate) -> bool:
    """Whether the blocks hold whole files because these contradict random rows."""
    return any(note.endswith(BY_FILES) for note in r.notes)


def meaning(r: Estimate) -> str:
    """An interval in one sentence: how often intervals made this way are right, about what."""
    often = (
        f"If this were repeated on fresh data of the same kind, at least {r.level} of such intervals would"
    )
    if r.interval_kind == "order":
        return (
            f"{often} hold the middle value that such blocks have in the long run, which for large blocks is "
            "nearly the true value; see 'What this rests on'."
        )
    return f"{often} hold the true value, if what stands under 'What this rests on' is so."


def block_facts(r: Estimate, *, given: bool) -> list[tuple[str, str]]:
    """The blocks, and what they bear; `given` is whether there is an interval or radius."""
    facts = [("blocks", _blocks(r)), ("bad rows it withstands", tolerated(r, given=given))]
    if r.n_ruined_blocks:
        facts.append(("ruined blocks", f"{r.n_ruined_blocks:,}: their value is infinite or not a number"))
    if r.n_set_aside:
        facts.append(("set aside", _set_aside(r)))
    return facts


def _set_aside(r: Estimate) -> str:
    of = "files" if by_files(r) else "units" if r.has_units else "rows"
    return (
        f"{r.n_set_aside:,} small blocks of {of} that lay far from all others: left out before the "
        f"{r.n_blocks:,} blocks were made, so they are not drawn below"
    )


def _blocks(r: Estimate) -> str:
    low, high = r.block_size
    size = f" of {low:,}{f' to {high:,}' if high != low else ''} rows" if high else ""
    repeats = r.repeats
    return f"{r.n_blocks:,}{size}" + (f", in each of {repeats} random partitions" if repeats > 1 else "")


def tolerated(r: Estimate, *, given: bool) -> str:
    """Blocks that may be arbitrary while the median lies among the others; what the interval allows for."""
    survived = max(0, -(-r.n_blocks // 2) - 1)
    if not survived:
        return "none"
    scheme = r.scheme
    what = "files" if by_files(r) else "units (or files)" if r.has_units else "rows"
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


def assumptions(r: Estimate) -> tuple[str, ...]:
    """In words, by scheme and kind of interval."""
    what = "files" if by_files(r) else "units (or files)" if r.has_units else "rows"
    found = [
        f"The {what} are independent of each other, and all but a minority come from one source whose values "
        "have a finite variance. The estimate is about the mean of that source."
    ]
    if r.scheme == "partition":
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
