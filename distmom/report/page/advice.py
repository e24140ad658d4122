"""What to do about a status, with the options that the command has which found it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from distmom.remedies import AGAIN, Remedies
from distmom.report.result import Result
from distmom.status import Status

DO: dict[str, str] = {
    "ok": "Nothing stands out. Use the estimate with its interval.",
    "contaminated": (
        "Use the robust estimate, not the plain one. (contaminated: some values are so far out that their "
        "blocks contradict the others. They are wrong, or the data has extremely heavy tails.)"
    ),
    "rows correlated": (
        "Use the estimate with its interval, which allows for that unless blocks or interval were fixed; "
        "where there is none, add files. (rows correlated: rows of a file or folder, or neighbouring rows, "
        "are more alike than others, so they tell less than their number says.)"
    ),
    "files disagree": (
        "Look into the files, correct them or leave them out, and run again. (files disagree: whole files "
        "hold other values than the rest.)"
    ),
    "dominated by few rows": (
        "Check that the largest values are real. (dominated by few rows: too few rows decide this mean "
        "for blocks to see how it varies; in groups also bad rows that are too many to stand out.)"
    ),
    "sample mean, no guarantee": (
        "Look at the values, or take more of them: there are too few rows, or too few different values, for "
        "blocks. This is the sample mean, which a single outlying value can move anywhere."
    ),
    "rows in order": (
        "Write the lake in random order first (DuckDB: ORDER BY random(), Polars: sample(fraction=1, "
        "shuffle=True)) and run again: the order of the rows goes with their values, which biases statistics "
        "of pairs in random blocks."
    ),
    "no rows": "No row is left to take a mean of: check the filter, the column and the data.",
}
"""What to do about a status, with whatever command."""


def _screened_out(of: Remedies, _: str) -> str:
    return (
        f"Find out what the rows are that were left out; if they are real, name them with {of.where} "
        "and estimate them apart. (share screened out: a share of the rows lies far from all others, across "
        "a gap, and would move the mean.)"
    )


def _far_out(of: Remedies, _: str) -> str:
    return (
        f"Look at the rows far out, and leave them out with {of.where} if they are wrong. (share far "
        "out: a share of the rows lies apart from all others, but not so far, or so many, that it must be an "
        "error; it is in the estimate.)"
    )


def _beyond(of: Remedies, again: str) -> str:
    ways = [f"{of.files} if whole files are bad"] * bool(of.files)
    ways += [f"{of.scattered} if bad rows are scattered"] * bool(of.scattered)
    more = f", or {again} with {', with '.join(ways)}" if ways else ""
    return (
        f"Do not rely on the estimate: find and remove the bad rows or files{more}. (breakdown point "
        "exceeded: so many blocks are outlying that the estimate itself may be wrong.)"
    )


def _not_finite(of: Remedies, _: str) -> str:
    return (
        f"Find out where infinite values and NaN come from, or filter those rows out with {of.where}: "
        "half or more of the blocks hold some, so there is no answer."
    )


WITH_OPTIONS: Mapping[str, Callable[[Remedies, str], str]] = {
    "share screened out": _screened_out,
    "share far out": _far_out,
    "breakdown point exceeded": _beyond,
    "no finite answer": _not_finite,
}
"""What to do about a status with the options of the command, and what it is called to ask it again."""

DESCRIBE = "Run 'distmom describe' (dm.describe) on the same data: it says which files are bad, and in what."


def advice(result: Result) -> tuple[str, ...]:
    """What to do about each status of a result."""
    found = [line for word in (result.flags or (result.status,)) if (line := _about(word, result))]
    outlying = {Status.CONTAMINATED, Status.FILES_DISAGREE, Status.BREAKDOWN_POINT_EXCEEDED}.intersection(
        result.flags
    )
    return (*found, *([DESCRIBE] if outlying else ()))


def _about(word: str, result: Result) -> str | None:
    if word in WITH_OPTIONS:
        return WITH_OPTIONS[word](result.remedies, asked_again(result))
    return DO.get(word)


def asked_again(result: Result) -> str:
    """What one does to ask again with other options: those of saved sums are fixed."""
    return AGAIN[result.run.get("sums", "run")]
