"""The words of a result's status."""

from __future__ import annotations

import re
from enum import StrEnum


class Status(StrEnum):
    """What a result's `status` and `flags` say: texts, so that ``found.status == "ok"`` holds.

    The members are declared in the order in which they decide: of several words the first is the status.

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
    BREAKDOWN_POINT_EXCEEDED = "breakdown point exceeded"
    # of a training whose model is not what was asked for
    NOT_CONVERGED = "not converged"
    STILL_IMPROVING = "still improving"
    CLUSTER_TOO_SMALL = "cluster too small"
    SHARE_SCREENED_OUT = "share screened out"
    FILES_DISAGREE = "files disagree"
    CONTAMINATED = "contaminated"
    SHARE_FAR_OUT = "share far out"
    RESIDUALS_SKEWED = "residuals skewed"
    ROWS_CORRELATED = "rows correlated"
    DOMINATED_BY_FEW_ROWS = "dominated by few rows"
    SAMPLE_MEAN = "sample mean, no guarantee"
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
    # of any other training
    ALL_STEPS_TAKEN = "all steps taken"
    CONVERGED = "converged"
    STATIONARY = "stationary"

    @property
    def fine(self) -> bool:
        """Whether there is nothing to look into."""
        return self in _FINE

    @property
    def no_answer(self) -> bool:
        """Whether the result must not be relied upon."""
        return self in (Status.NO_ROWS, Status.NO_FINITE_ANSWER, Status.BREAKDOWN_POINT_EXCEEDED)

    def __repr__(self) -> str:
        return repr(str(self))


RETIRED_STATUSES = {
    "beyond capacity": Status.BREAKDOWN_POINT_EXCEEDED,
    "carried by few rows": Status.DOMINATED_BY_FEW_ROWS,
    "plain mean, no guarantee": Status.SAMPLE_MEAN,
    "share set aside": Status.SHARE_SCREENED_OUT,
}
"""Words of before 0.1.0, and what they are now."""

_FINE = (
    *(Status.OK, Status.COUNTED_ONLY, Status.CHAMPION, Status.FINALIST, Status.BEATEN),
    *(Status.CONVERGED, Status.STATIONARY),
)


def listed_statuses(text: str) -> list[str]:
    """Words of a list that commas separate; those with a comma of their own stay whole.

    Examples
    --------
    >>> listed_statuses("contaminated, sample mean, no guarantee,any")
    ['contaminated', 'sample mean, no guarantee', 'any']
    """
    whole = "|".join(word for word in (*Status, *RETIRED_STATUSES) if "," in word)
    return [word.strip() for word in re.findall(rf"(?:^|,)\s*({whole}|[^,]*)", text)]
