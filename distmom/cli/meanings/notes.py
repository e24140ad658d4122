"""Subjects of notes: what the lines below a table are about."""

from __future__ import annotations

from typing import NamedTuple


class Subject(NamedTuple):
    """What notes are about.

    Attributes
    ----------
    word : str
        Their subject.
    meaning, do : str
        What they mean, and what to do.
    """

    word: str
    meaning: str
    do: str = ""


SUBJECTS = (
    Subject(
        "accused files",
        "files whose values differ from those of all others; they are compared in blocks of whole files, "
        "then one by one if they can be read again",
        "'distmom describe' shows in what they differ; --exclude leaves them out",
    ),
    Subject(
        "all values identical",
        "every row has the same value, so the interval is that value; rarer values may exist outside this "
        "sample",
    ),
    Subject(
        "blocks lowered",
        "there are too few rows for the requested number of blocks",
        "take fewer blocks, or --blocks auto",
    ),
    Subject(
        "design effect",
        "the variance of the mean, relative to that of as many independent rows: with 10, these rows carry "
        "as much information as a tenth of their number of independent rows",
        "nothing if the interval is that of whole files; else --block-by file",
    ),
    Subject(
        "far rows",
        "rows that are far from all others: their share with its interval, and where they are",
        "check them; the condition after --where leaves them out",
    ),
    Subject(
        "missing values",
        "null and NaN are left out and counted; infinite values count as rows and spoil their blocks",
        "--nan raise refuses NaN; --where filters rows",
    ),
    Subject(
        "no interval",
        "there is an estimate but no valid interval: too few blocks or units, correlated rows in too few "
        "files, or a bound that says nothing at this level; the note gives the reason",
        "take more rows or files, or a lower --confidence",
    ),
    Subject(
        "skipped files",
        "files that could not be read, with --on-bad-file skip: their rows are missing from the result, and "
        "the exit code is 4",
        "repair them and run again",
    ),
    Subject(
        "state",
        "how many files were read now, and how many were in the saved state; files that changed are refused",
        "--on-change restart reads everything again",
    ),
    Subject(
        "units in several variants",
        "a randomisation unit occurs in more than one variant; in an experiment none should",
        "check the assignment; --crossover omit leaves these units out",
    ),
)
