"""What the rule has to say about an answer, and why an interval may be missing: codes and their wording."""

from __future__ import annotations

from enum import IntEnum, IntFlag


class Status(IntFlag):
    """Findings about one group's answer; a group may have several. 0 is ``ok``.

    The members are declared in the order in which they are told; the first one decides.
    """

    NO_ROWS = 1
    NO_FINITE_ANSWER = 2
    BEYOND_CAPACITY = 4
    FILES_DISAGREE = 8
    CONTAMINATED = 16
    CARRIED_BY_FEW_ROWS = 32
    PLAIN_MEAN = 64
    ROWS_IN_ORDER = 128


STATUS_WORDS: dict[Status, str] = {
    Status.NO_ROWS: "no rows",
    Status.NO_FINITE_ANSWER: "no finite answer",
    Status.BEYOND_CAPACITY: "beyond capacity",
    Status.FILES_DISAGREE: "files disagree",
    Status.CONTAMINATED: "contaminated",
    Status.CARRIED_BY_FEW_ROWS: "carried by few rows",
    Status.PLAIN_MEAN: "plain mean, no guarantee",
    Status.ROWS_IN_ORDER: "rows in order",
}
"""The short words of a status list."""


class NoInterval(IntEnum):
    """Why a group has no interval; 0 where it has one."""

    GIVEN = 0
    NOT_WANTED = 1
    NO_ANSWER = 2
    PLAIN_MEAN = 3
    FEWER_ROWS_THAN_BLOCKS = 4
    CONSTANT_BLOCKS = 5
    TOO_FEW_BLOCKS = 6
    VACUOUS = 7
    RUINED_ENDS = 8
    OVERFLOW = 9


REASON_WORDS: dict[NoInterval, str] = {
    NoInterval.GIVEN: "",
    NoInterval.NOT_WANTED: "not asked for",
    NoInterval.NO_ANSWER: "there is no finite answer",
    NoInterval.PLAIN_MEAN: "too few rows, or too few different values, for five blocks",
    NoInterval.FEWER_ROWS_THAN_BLOCKS: "fewer rows than blocks",
    NoInterval.CONSTANT_BLOCKS: "more than half of the blocks are constant",
    NoInterval.TOO_FEW_BLOCKS: "too few blocks for this confidence level",
    NoInterval.VACUOUS: (
        "the bound is vacuous: too many blocks are ruined or taken to be outlying for this confidence level"
    ),
    NoInterval.RUINED_ENDS: "ruined blocks reach the ends of the interval",
    NoInterval.OVERFLOW: "the spread of the blocks exceeds the range of float64",
}
"""The reason printed beside a missing interval."""


ALL_EQUAL = "all values are equal; whether others exist beyond these rows they cannot tell"
"""The notice beside an answer without any spread, whose interval is the one value."""


def status_list(status: int) -> list[str]:
    """Words of a status, the deciding one first; ``["ok"]`` where there is nothing to tell.

    Examples
    --------
    >>> status_list(Status.CONTAMINATED | Status.BEYOND_CAPACITY)
    ['beyond capacity', 'contaminated']
    >>> status_list(0)
    ['ok']
    """
    found = int(status)
    return [word for flag, word in STATUS_WORDS.items() if flag.value & found] or ["ok"]
