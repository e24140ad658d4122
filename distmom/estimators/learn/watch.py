"""Progress of a descent: a log line a minute, with the time left."""

from __future__ import annotations

import logging
from time import monotonic
from typing import TYPE_CHECKING

from distmom.solvers import DescentState

if TYPE_CHECKING:
    from distmom.cluster import Progress

logger = logging.getLogger("distmom")

EVERY = 60.0


class Watch:
    """Called after each step.

    Parameters
    ----------
    n_steps : int
        Most steps.
    progress : Progress, optional
        None is quiet; it is also told that there is progress, though not of rows.
    """

    def __init__(self, n_steps: int, progress: Progress | None) -> None:
        self.n_steps = n_steps
        self.progress = progress
        self.began = self.said = monotonic()
        self.first: int | None = None

    def __call__(self, state: DescentState) -> None:
        """Say how far it is, once in a while."""
        if self.progress is None:
            return
        self.progress.advance(0, 0)
        now = monotonic()
        if self.first is None:
            self.first, self.began = state.step, now
        if now - self.said < EVERY:
            return
        self.said = now
        rate = (state.step - self.first) / max(now - self.began, 1e-3)
        left = f"{(self.n_steps - state.step) / rate:.0f} s left" if rate else "unknown time left"
        loss = state.history.held_out[-1] if state.history.held_out else state.history.objective[-1]
        logger.info("training: step %d of at most %d, loss %.4g, %s", state.step, self.n_steps, loss, left)
