"""Checkpoints of a descent on a lake: a run that goes on from one gives the same bits as an unbroken one."""

from __future__ import annotations

import hashlib
import os
from time import monotonic
from typing import TYPE_CHECKING, Any

from distmom.errors import ConfigError, DataError
from distmom.estimators.learn.row_counts import Met, Place
from distmom.lake.saved.container import Container
from distmom.lake.saved.statefile import check_state_path, read_state, write_state
from distmom.numerics.random.philox import DRAW_VERSION
from distmom.solvers import DescentState

if TYPE_CHECKING:
    from distmom.lake.filters import Filter

KIND = "training"
EVERY = 30.0
"""Seconds between two checkpoints."""


class Checkpoint:
    """The state of one run, and the file that it is saved in.

    Parameters
    ----------
    path : str or path
    every : float
        Seconds between saves; also saved at the end, whatever ends the run.

    Raises
    ------
    ConfigError
        If no state can be written there.
    DataError
        If there is a state that is damaged, or of another kind.
    """

    def __init__(self, path: str | os.PathLike[str], every: float = EVERY) -> None:
        self.path = check_state_path(path)
        self.every = every
        self.saved: Container | None = None
        if self.path.exists():
            self.saved = read_state(self.path)
            if self.saved.kind != KIND:
                raise DataError(
                    f"state {str(self.path)!r} is one of a {self.saved.kind}, not of a training; "
                    "name another file"
                )
        self._made: dict[str, Any] = {}
        self._due = monotonic() + every

    @property
    def n_steps_before(self) -> int:
        """Steps that the state held when it was opened."""
        return 0 if self.saved is None else int(self.saved.facts["n_steps"])

    @property
    def seed(self) -> str | None:
        """The seed of the saved run, as `resolve_seed` takes it."""
        return None if self.saved is None else str(self.saved.facts["seed"])

    def begin(self, seed: int, made: dict[str, Any], listing: str, where: Filter | None = None) -> None:
        """Compare with what the state was made of.

        Raises
        ------
        ConfigError
            If it was made with other options, or of other columns or rows.
        DataError
            If the files of the lake have changed.
        """
        print_ = hashlib.blake2b(listing.encode(), digest_size=16).hexdigest()
        self._made = {
            **made,
            "seed": f"0x{seed:032x}",
            "draws": DRAW_VERSION,
            "where": None if where is None else where.identity,
            "files": print_,
            "where_text": None if where is None else where.text,
        }
        if self.saved is None:
            return
        then = self.saved.facts
        for name, value in self._made.items():
            if name == "where_text" or then.get(name) == value:
                continue
            if name == "files":
                raise DataError(
                    f"state {str(self.path)!r}: files of the lake have changed since; "
                    "delete it to start afresh"
                )
            before, now = then.get(name), value
            if name == "where" and then.get("where_text") != self._made["where_text"]:  # Arrow shortens some
                before, now = then.get("where_text"), self._made["where_text"]
            raise ConfigError(
                f"state {str(self.path)!r} was made with {name} = {before!r}, not {now!r}; use the "
                "same, or another state"
            )

    def resume(self) -> tuple[DescentState, Place] | None:
        """The state to go on from, and where its next step begins."""
        if self.saved is None:
            return None
        try:
            number, row, *met = map(int, self.saved.facts["place"])
            if len(met) != len(Met._fields):
                raise ValueError("counts of rows are missing")
            return DescentState.from_arrays(self.saved.arrays), Place(number, row, Met(*met))  # type: ignore[arg-type]
        except (KeyError, ValueError, TypeError) as error:
            raise DataError(
                f"state {str(self.path)!r} does not hold what a training needs; delete it to start afresh"
            ) from error

    def after(self, state: DescentState, place: Place) -> None:
        """Save once in a while."""
        if monotonic() >= self._due:
            self.end(state, place)

    def end(self, state: DescentState, place: Place) -> None:
        """Save now, if the state is one between two steps."""
        if len(state.history.objective) != state.step or state.iterates.count != state.step:
            return
        at = [place.number, place.row, *place.met]
        facts = {**self._made, "place": at, "n_steps": state.step}
        write_state(self.path, Container(KIND, facts, state.to_arrays()))
        self._due = monotonic() + self.every
