"""The words of a result's status."""

from __future__ import annotations

import re
from enum import StrEnum


class Status(StrEnum):
    """Values of a result's `status` and `flags`: strings, so ``found.status == "ok"`` is true.

    The members are in order of precedence: the first of several flags is the status.

    Attributes
    ----------
    fine : bool
        Whether there is nothing to check.
    no_answer : bool
        Whether the result must not be used: a program with such a result exits with code 5.

    Examples
    --------
    >>> Status.FILES_DISAGREE == "files disagree", Status("no rows").no_answer, Status.OK.fine
    (True, True, True)
    """

    OK = "ok"
    NO_ROWS = "no rows"
    NO_FINITE_ANSWER = "no finite answer"
    BREAKDOWN_POINT_EXCEEDED = "breakdown point exceeded"
    # of a training whose model is not the requested one
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
    # of described columns
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
        """Whether there is nothing to check."""
        return self in _FINE

    @property
    def no_answer(self) -> bool:
        """Whether the result must not be used."""
        return self in (Status.NO_ROWS, Status.NO_FINITE_ANSWER, Status.BREAKDOWN_POINT_EXCEEDED)

    def __repr__(self) -> str:
        return repr(str(self))


RETIRED_STATUSES = {
    "beyond capacity": Status.BREAKDOWN_POINT_EXCEEDED,
    "carried by few rows": Status.DOMINATED_BY_FEW_ROWS,
    "plain mean, no guarantee": Status.SAMPLE_MEAN,
    "share set aside": Status.SHARE_SCREENED_OUT,
}
"""Words from before 0.1.0, and their present forms."""

_FINE = (
    *(Status.OK, Status.COUNTED_ONLY, Status.CHAMPION, Status.FINALIST, Status.BEATEN),
    *(Status.CONVERGED, Status.STATIONARY),
)


def listed_statuses(text: str) -> list[str]:
    """Words of a comma-separated list; words that contain a comma stay whole.

    Examples
    --------
    >>> listed_statuses("contaminated, sample mean, no guarantee,any")
    ['contaminated', 'sample mean, no guarantee', 'any']
    """
    whole = "|".join(word for word in (*Status, *RETIRED_STATUSES) if "," in word)
    return [word.strip() for word in re.findall(rf"(?:^|,)\s*({whole}|[^,]*)", text)]
