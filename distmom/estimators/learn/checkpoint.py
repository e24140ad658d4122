"""Checkpoints of a descent on a lake: a run that goes on from one gives the same bits as an unbroken one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from distmom.estimators.learn.row_counts import Met, Place
from distmom.solvers import DescentState
from distmom.state import Checkpoint, Fingerprint, Saved
from distmom.state.checkpoint import Content
from distmom.state.files import Change
from distmom.state.saved import understood

if TYPE_CHECKING:
    from distmom.lake import Source

KIND = "training"

ALL_ROWS = Change("the order of the rows depends on their number", "to begin anew")


class DescentKeeper:
    """The state of one run: where it goes on, and what is saved of it."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint = checkpoint
        self.seed = checkpoint.seed
        self._source: Source | None = None

    def begin(self, data: Any, source: Source, fingerprint: Fingerprint) -> None:
        """Compare with what the state was made of.

        Raises
        ------
        ConfigError
            If it was made with other options, or of other columns or rows; or if the data is no lake.
        DataError
            If the files of the lake have changed.
        """
        self._checkpoint.check_source(data, source)
        self._checkpoint.begin(fingerprint, source.files, ALL_ROWS)
        self._source = source

    def resume(self) -> tuple[DescentState, Place] | None:
        """The state to go on from, and where its next step begins."""
        saved = self._checkpoint.saved
        return None if saved is None else understood(self._checkpoint.name, lambda: _descent(saved))

    def keeping(
        self, state: DescentState, place: Callable[[], Place]
    ) -> AbstractContextManager[Callable[[], None]]:
        """The block that takes the steps, see `Checkpoint.keeping`."""
        return self._checkpoint.keeping(lambda: self._content(state, place()))

    def save(self, state: DescentState, place: Place) -> None:
        """Save now, if the state is one between two steps."""
        self._checkpoint.save(self._content(state, place))

    def _content(self, state: DescentState, place: Place) -> Content | None:
        if len(state.history.objective) != state.step or state.iterates.count != state.step:
            return None
        assert self._source is not None
        facts = {"place": [place.number, place.row, *place.met], "n_steps": state.step}
        return Content(self._source.files, facts, state.to_arrays())


def _descent(saved: Saved) -> tuple[DescentState, Place]:
    number, row, *met = map(int, saved.facts["place"])
    if len(met) != len(Met._fields):
        raise ValueError("counts of rows are missing")
    return DescentState.from_arrays(saved.arrays), Place(number, row, Met(*met))
