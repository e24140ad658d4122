"""The work of one unit over one or several samples: keep rows of each, use them together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from distmom.cluster.outcome import UnitOutcome
from distmom.cluster.plan import Unit
from distmom.cluster.stop import check_stopped
from distmom.cluster.work import ReadAndReduce


@dataclass(frozen=True)
class ReadSamples:
    """Callable on a `Unit` whose window holds one unit for each sample; picklable.

    Attributes
    ----------
    reads : tuple of ReadAndReduce
        One for each sample.
    finish : callable
        Takes what they leave of the rows, and gives the state; picklable. Calls ``between`` now and then,
        which raises when the run is given up.
    """

    reads: tuple[ReadAndReduce, ...]
    finish: Callable[..., Any]

    def __call__(self, unit: Unit) -> UnitOutcome:
        """Read the rows of every sample and return the state."""
        read = [one(part) for one, part in zip(self.reads, unit.window, strict=True)]
        return UnitOutcome(
            self.finish(*(outcome.state for outcome in read), between=check_stopped),
            sum(outcome.n_rows for outcome in read),
            sum(outcome.n_bytes for outcome in read),
            tuple(record for outcome in read for record in outcome.skipped),
        )


def sample_unit(number: int, parts: tuple[Unit, ...]) -> Unit:
    """Unit `number` of a run in which each unit reads all files of every sample.

    The runner merges the states of such units by their numbers, as if each were of one file.
    """
    n_bytes = sum(part.n_bytes for part in parts)
    return Unit(number, 0, number, parts[0].files[:1], n_bytes=n_bytes, window=parts)
