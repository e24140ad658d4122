"""What to do about a status, with the options that the command has which found it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from distmom.remedies import AGAIN, Remedies
from distmom.report.result import Result
from distmom.status import Status

NOTHING = "Nothing to do. Use the estimate with its interval."

DO: dict[str, str] = {
    Status.OK: NOTHING,
    Status.CONTAMINATED: "Use the robust estimate, not the plain one.",
    Status.ROWS_CORRELATED: (
        "Use the estimate with its interval, which allows for the correlation unless blocks or interval were "
        "fixed. If there is no interval, add files."
    ),
    Status.FILES_DISAGREE: "Inspect the files, correct or exclude them, and run again.",
    Status.DOMINATED_BY_FEW_ROWS: "Check that the largest values are real.",
    Status.SAMPLE_MEAN: "Inspect the values, or use more rows: there are too few for blocks.",
    Status.ROWS_IN_ORDER: (
        "Write the lake in random order (DuckDB: ORDER BY random(), Polars: sample(fraction=1, "
        "shuffle=True)), and run again."
    ),
    Status.RESIDUALS_SKEWED: (
        'Check the rows with large residuals; if they are real, learn again with loss="squared".'
    ),
    Status.NO_ROWS: "Check the filter, the column and the data: no row is left.",
}
"""What to do about a status, with whatever command."""

MEANS: dict[str, str] = {
    Status.CONTAMINATED: (
        "some values are so far out that their blocks contradict the others; they are wrong, or the data has "
        "extremely heavy tails."
    ),
    Status.ROWS_CORRELATED: (
        "rows of a file or folder, or neighbouring rows, are correlated, so they tell less than their number "
        "suggests."
    ),
    Status.FILES_DISAGREE: "whole files have other values than the rest.",
    Status.DOMINATED_BY_FEW_ROWS: (
        "a few observations dominate this mean, too few for blocks to show how it varies; in groups, also "
        "bad rows that are too many to be outliers."
    ),
    Status.SAMPLE_MEAN: (
        "there are too few rows, or too few different values, for blocks; this is the ordinary mean, which "
        "one outlier can move anywhere."
    ),
    Status.ROWS_IN_ORDER: (
        "the order of the rows goes with their values, which biases statistics of pairs in random blocks."
    ),
    Status.SHARE_SCREENED_OUT: "a share of the rows lies far from all others and would move the mean.",
    Status.SHARE_FAR_OUT: (
        "a share of the rows lies apart from all others, but not so far, or so many, that it must be an "
        "error; it is in the estimate."
    ),
    Status.RESIDUALS_SKEWED: (
        "the mean of the residuals is far from zero, and the Huber loss does not follow it: their noise is "
        "skewed, or the targets of some rows are wrong."
    ),
    Status.BREAKDOWN_POINT_EXCEEDED: "so many blocks are outlying that the estimate itself may be wrong.",
    Status.NO_FINITE_ANSWER: "at least half of the blocks contain an infinite value or NaN.",
}
"""What a status means."""


def _left_out(of: Remedies, _: str) -> str:
    return f"Check the rows that were left out. If they are real, estimate them separately with {of.where}."


def _far_out(of: Remedies, _: str) -> str:
    return f"Check the rows that lie far out. If they are wrong, leave them out with {of.where}."


def _beyond(of: Remedies, again: str) -> str:
    ways = [f"{of.files} if whole files are bad"] * bool(of.files)
    ways += [f"{of.scattered} if bad rows are scattered"] * bool(of.scattered)
    more = f", or {again} with {', with '.join(ways)}" if ways else ""
    return f"Do not rely on the estimate: find and remove the bad rows or files{more}."


def _not_finite(of: Remedies, _: str) -> str:
    return f"Find out where infinite values and NaN come from, or filter those rows out with {of.where}."


WITH_OPTIONS: Mapping[str, Callable[[Remedies, str], str]] = {
    Status.SHARE_SCREENED_OUT: _left_out,
    Status.SHARE_FAR_OUT: _far_out,
    Status.BREAKDOWN_POINT_EXCEEDED: _beyond,
    Status.NO_FINITE_ANSWER: _not_finite,
}
"""What to do about a status with the options of the command, and what it is called to ask it again."""

DESCRIBE = "Run 'distmom describe' (dm.describe) on the same data: it names the bad files."


def advice(result: Result) -> tuple[str, ...]:
    """What to do about each status of a result."""
    found = [line for word in (result.flags or (result.status,)) if (line := _about(word, result))]
    outlying = {Status.CONTAMINATED, Status.FILES_DISAGREE, Status.BREAKDOWN_POINT_EXCEEDED}.intersection(
        result.flags
    )
    known = getattr(result, "files_named", False)
    return (*found, *([DESCRIBE] if outlying and not known else ()))


def meanings(results: Iterable[Result]) -> tuple[str, ...]:
    """What each status of some results means, each once."""
    words = dict.fromkeys(word for r in results for word in (r.flags or (r.status,)))
    return tuple(f"{word}: {MEANS[word]}" for word in words if word in MEANS)


def _about(word: str, result: Result) -> str | None:
    if word in WITH_OPTIONS:
        return WITH_OPTIONS[word](result.remedies, asked_again(result))
    return DO.get(word)


def asked_again(result: Result) -> str:
    """What one does to ask again with other options: those of saved sums are fixed."""
    return AGAIN[result.run.get("sums", "run")]
