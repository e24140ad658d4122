"""The words of a result's status."""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """What a result's `status` and `flags` say: texts, so that ``found.status == "ok"`` holds.

    Attributes
    ----------
    fine : bool
        Whether there is nothing to look into.
    no_answer : bool
        Whether the result must not be relied upon: a program that has such a result ends with 5.

    Examples
    --------
    >>> Status.FILES_DISAGREE == "files disagree", Status("no rows").no_answer, Status.OK.fine
    (True, True, True)
    """

    OK = "ok"
    NO_ROWS = "no rows"
    NO_FINITE_ANSWER = "no finite answer"
    BEYOND_CAPACITY = "beyond capacity"
    SHARE_SET_ASIDE = "share set aside"
    FILES_DISAGREE = "files disagree"
    CONTAMINATED = "contaminated"
    SHARE_FAR_OUT = "share far out"
    ROWS_CORRELATED = "rows correlated"
    CARRIED_BY_FEW_ROWS = "carried by few rows"
    PLAIN_MEAN = "plain mean, no guarantee"
    ROWS_IN_ORDER = "rows in order"
    # of columns that are described
    COUNTED_ONLY = "counted only"
    NO_VALUES = "no values"
    # of candidates in a tournament
    CHAMPION = "champion"
    FINALIST = "finalist"
    BEATEN = "beaten"
    CYCLE = "cycle"
    NOT_DECIDED = "not decided"
    # of a training
    CONVERGED = "converged"
    ALL_STEPS_TAKEN = "all steps taken"
    STATIONARY = "stationary"
    STILL_IMPROVING = "still improving"
    NOT_CONVERGED = "not converged"
    CLUSTER_TOO_SMALL = "cluster too small"

    @property
    def fine(self) -> bool:
        """Whether there is nothing to look into."""
        return self in _FINE

    @property
    def no_answer(self) -> bool:
        """Whether the result must not be relied upon."""
        return self in (Status.NO_ROWS, Status.NO_FINITE_ANSWER, Status.BEYOND_CAPACITY)

    def __repr__(self) -> str:
        return repr(str(self))


_FINE = (
    *(Status.OK, Status.COUNTED_ONLY, Status.CHAMPION, Status.FINALIST, Status.BEATEN),
    *(Status.CONVERGED, Status.STATIONARY),
)
