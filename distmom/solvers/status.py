"""How a descent ended, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class DescentStatus:
    """A word for the end, a sentence of advice, and whether the point found is usable."""

    name: str
    advice: str
    good: bool = True

    def __str__(self) -> str:
        return f"{self.name}: {self.advice}"


CONVERGED = DescentStatus(
    "converged", "the loss on the held-out blocks no longer falls, or its gradient is no more than noise"
)
ALL_STEPS = DescentStatus(
    "all steps taken", "without held-out blocks it is unknown whether more steps would help"
)
STILL_IMPROVING = DescentStatus(
    "still improving", "the loss on the held-out blocks was falling at the last step; allow more steps"
)
NOT_CONVERGED = DescentStatus(
    "not converged",
    "the gradient on the validation blocks exceeds its noise, so the risk has not reached its minimum; allow "
    "more steps (max_iter)",
)
FITTED = DescentStatus(
    "converged", "the model is the fit to all rows that are not accused; steps on blocks found no better one"
)
WORSE_STEPS = DescentStatus(
    "not converged",
    "the steps ended at a model worse than the fit to a sample of the rows, which is taken: blocks are too "
    "small for what is rare, or steps are too few; leave out rows that are accused, or allow more steps",
)
STATIONARY = DescentStatus("stationary", "the gradient has been zero for many steps")
ALL_SKIPPED = DescentStatus(
    "no usable block",
    "no block of many steps could be used (a pair loss needs both kinds of pairs in a block); take larger "
    "blocks",
    good=False,
)
NO_FINITE_LOSS = DescentStatus(
    "no finite loss",
    "half or more of the blocks of several steps in a row have an infinite loss; take smaller blocks, look "
    "at the features, or take a smaller step size",
    good=False,
)
DIVERGED = DescentStatus("diverged", "the iterate is no longer finite; take a smaller step size", good=False)
SMALL_CLUSTER = DescentStatus("cluster too small", "take larger blocks, more rows, or fewer clusters")


def advised(end: DescentStatus, *, whiten: bool) -> DescentStatus:
    """The same, with the advice to whiten features where that is possible and not done.

    Examples
    --------
    >>> advised(NOT_CONVERGED, whiten=True).advice[-38:]
    '(max_iter), or take scaling="whitened"'
    """
    if end is not NOT_CONVERGED or not whiten:
        return end
    return replace(end, advice=f'{end.advice}, or take scaling="whitened"')
