"""Checkpoints of a descent on a lake: a run that goes on from one gives the same bits as an unbroken one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from distmom.estimators.learn.rows import Met
from distmom.estimators.learn.steps import Place
from distmom.solvers.state import DescentState
from distmom.state import Checkpoint, Saved
from distmom.state.checkpoint import Content
from distmom.state.saved import Change, understood

if TYPE_CHECKING:
    from distmom.lake import FileRef

KIND = "training"

ALL_ROWS = Change("the order of the rows depends on their number", "to begin anew")


@dataclass(frozen=True)
class DescentKeeper:
    """The state of one run on these files: where it goes on, and what is saved of it."""

    checkpoint: Checkpoint
    files: tuple[FileRef, ...]

    def resume(self) -> tuple[DescentState, Place] | None:
        """The state to go on from, and where its next step begins."""
        saved = self.checkpoint.saved
        return None if saved is None else understood(self.checkpoint.name, lambda: _descent(saved))

    def content(self, state: DescentState, place: Place) -> Content | None:
        """What is saved; None in the midst of a step."""
        if len(state.history.objective) != state.step or state.iterates.count != state.step:
            return None
        facts = {"place": [place.number, place.row, *place.met], "n_steps": state.step}
        return Content(self.files, facts, state.to_arrays())


def _descent(saved: Saved) -> tuple[DescentState, Place]:
    number, row, *met = map(int, saved.facts["place"])
    if len(met) != len(Met._fields):
        raise ValueError("counts of rows are missing")
    return DescentState.from_arrays(saved.arrays), Place(number, row, Met(*met))
