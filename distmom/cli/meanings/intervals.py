"""Kinds of intervals: what each promises, and when to take it."""

from __future__ import annotations

from typing import NamedTuple


class IntervalMeaning(NamedTuple):
    """A kind of interval, by its word on the command line."""

    word: str
    meaning: str
    do: str


INTERVALS = (
    IntervalMeaning(
        "auto",
        "order statistics if there are enough blocks, else the Cantelli bound; of whole files if rows are "
        "correlated",
        "the default; keep it unless you need one kind in every run",
    ),
    IntervalMeaning(
        "order",
        "order statistics of the block values: distribution-free coverage of the median of a block value, "
        "which is close to the mean for large blocks",
        "needs 8 blocks at 99%; not for samples, which share rows",
    ),
    IntervalMeaning(
        "cantelli",
        "Cantelli bound with plug-in variance: it would hold for every distribution of known variance; "
        "the variance is estimated, so coverage is asymptotic in the block size",
        "wide and safe; few blocks make it shorter",
    ),
    IntervalMeaning(
        "closed-form",
        "closed-form bound of the proposition, for its own number of blocks",
        "for comparison with published results; use --blocks paper",
    ),
    IntervalMeaning("none", "no interval", "saves time if only the estimate counts"),
)
