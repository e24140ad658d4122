"""Findings of the rule about an answer, and reasons for missing intervals: codes and their wording."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum, IntFlag
from functools import cache

from distmom.status import Status


class Finding(IntFlag):
    """Findings about one group's answer; a group may have several, or none.

    The members are declared in the order in which they are reported; the first one decides.
    """

    NO_ROWS = 1
    NO_FINITE_ANSWER = 2
    BREAKDOWN_POINT_EXCEEDED = 4
    SHARE_SCREENED_OUT = 256
    FILES_DISAGREE = 8
    CONTAMINATED = 16
    SHARE_FAR_OUT = 512
    ROWS_CORRELATED = 1024
    DOMINATED_BY_FEW_ROWS = 32
    SAMPLE_MEAN = 64
    ROWS_IN_ORDER = 128


class NoInterval(IntEnum):
    """Why a group has no interval, and the words for it; 0 if it has one."""

    words: str

    def __new__(cls, code: int, words: str = "") -> NoInterval:
        """A code with its words."""
        member = int.__new__(cls, code)
        member._value_, member.words = code, words
        return member

    GIVEN = 0, ""
    NOT_WANTED = 1, "not asked for"
    NO_ANSWER = 2, "there is no finite answer"
    SAMPLE_MEAN = 3, "too few rows, or too few different values, for five blocks"
    FEWER_ROWS_THAN_BLOCKS = 4, "fewer rows than blocks"
    CONSTANT_BLOCKS = 5, "more than half of the blocks are constant"
    TOO_FEW_BLOCKS = 6, "too few blocks for this confidence level"
    VACUOUS = (
        7,
        "the bound is vacuous: too many blocks are non-finite or assumed outlying for this confidence level",
    )
    NON_FINITE_ENDS = 8, "non-finite blocks reach the ends of the interval"
    OVERFLOW = 9, "the variance of the blocks exceeds the range of float64"
    SAMPLES_NON_FINITE = 10, "the bound for samples does not allow for non-finite blocks"
    SAMPLES_TOO_SMALL = 11, "samples of one row have no variance"
    SAMPLES_VACUOUS = 12, "the bound is vacuous for this confidence level; use more or smaller blocks"
    VARIANCE_UNKNOWN = 13, "the variance of the statistic is not known: there are too few rows"
    FEW_UNITS = (
        14,
        "rows are correlated, and an interval needs 24 independent files, folders or stretches of rows",
    )


ALL_EQUAL = "all values are identical; rarer values may exist outside this sample"
"""The notice beside an answer without any variance, whose interval is that one value."""


@cache
def flags_of(findings: int) -> tuple[Status, ...]:
    """The words of findings, the deciding one first.

    Examples
    --------
    >>> flags_of(Finding.CONTAMINATED | Finding.BREAKDOWN_POINT_EXCEEDED)
    ('breakdown point exceeded', 'contaminated')
    """
    return tuple(Status[str(one.name)] for one in Finding if one.value & int(findings))


def in_order(flags: Iterable[Status]) -> tuple[Status, ...]:
    """Words of findings, and of the end of a training, each once, the deciding one first.

    Examples
    --------
    >>> in_order([Status.CONTAMINATED, Status.BREAKDOWN_POINT_EXCEEDED, Status.CONTAMINATED])
    ('breakdown point exceeded', 'contaminated')
    >>> in_order([Status.CONVERGED, Status.SHARE_FAR_OUT, Status.STILL_IMPROVING])
    ('still improving', 'share far out', 'converged')
    """
    return tuple(sorted(set(flags), key=_PLACES.__getitem__))


_PLACES = {word: place for place, word in enumerate(Status)}
