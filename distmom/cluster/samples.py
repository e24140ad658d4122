"""The work of one unit over one or several samples: keep rows of each, use them together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from distmom.cluster.outcome import UnitOutcome, Work
from distmom.cluster.plan import Unit
from distmom.cluster.stop import check_stopped


class Way(NamedTuple):
    """What some units do: read every sample, and make a state of what the reads leave.

    Attributes
    ----------
    reads : tuple of callable
        One for each sample, such as `ReadAndReduce`.
    finish : callable
        Takes what they leave of the rows, and gives the state; picklable. Calls ``between`` now and then,
        which raises when the run is given up.
    """

    reads: tuple[Work, ...]
    finish: Callable[..., Any]


@dataclass(frozen=True)
class ReadSamples:
    """Callable on a `Unit` whose window is the number of a way and a unit for each sample; picklable.

    Attributes
    ----------
    ways : tuple of Way
    """

    ways: tuple[Way, ...]

    def __call__(self, unit: Unit) -> UnitOutcome:
        """Read the rows of every sample and return the state."""
        number, parts = unit.window
        reads, finish = self.ways[number]
        read = [one(part) for one, part in zip(reads, parts, strict=True)]
        return UnitOutcome(
            finish(*(outcome.state for outcome in read), between=check_stopped),
            sum(outcome.n_rows for outcome in read),
            sum(outcome.n_bytes for outcome in read),
            tuple(record for outcome in read for record in outcome.skipped),
        )


def sample_unit(number: int, parts: tuple[Unit, ...], way: int = 0) -> Unit:
    """Unit `number` of a run in which each unit reads all files of every sample.

    The runner merges the states of such units by their numbers, as if each were of one file.
    """
    n_bytes = sum(part.n_bytes for part in parts)
    return Unit(number, 0, number, parts[0].files[:1], n_bytes=n_bytes, window=(way, parts))
