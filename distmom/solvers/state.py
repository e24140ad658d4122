"""The state of a descent: all that a checkpoint needs for a bit-for-bit identical continuation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distmom.numerics.arrays import Floats
from distmom.solvers.iterates import MOST_CHUNKS, Iterates
from distmom.solvers.step_sizes import Memory

NORMS = 101
"""Number of gradient norms in the running median."""

COUNTERS = ("step", "idle", "infinite", "since_best")
PLAIN = ("x", "norms", "best", "best_losses")

Arrays = Mapping[str, NDArray[Any]]


@dataclass
class History:
    """One entry for each step; skipped steps have an objective of NaN or infinity."""

    # the loss of the step: NaN if no block could be used, infinite if half or more are not finite
    objective: list[float] = field(default_factory=list)
    block: list[int] = field(default_factory=list)  # -1 for a combination, -2 if the step was skipped
    gradient_norm: list[float] = field(default_factory=list)  # before clipping
    skipped: list[int] = field(default_factory=list)  # number of unusable blocks
    held_out_step: list[int] = field(default_factory=list)  # after which held-out blocks were evaluated
    held_out: list[float] = field(default_factory=list)  # lower median of their losses


@dataclass
class DescentState:
    """The iterate and the memory of the rules."""

    step: int  # steps taken
    x: Floats  # (p,)
    memory: Memory  # of the step size
    norms: Floats = field(default_factory=lambda: np.zeros(0))  # the last that were not zero, at most `NORMS`
    iterates: Iterates = field(default_factory=Iterates)
    idle: int = 0  # steps in a row that did not move,
    infinite: int = 0  # and that had no finite loss
    best: Floats | None = None  # the point with the best held-out losses
    best_losses: Floats | None = None
    since_best: int = 0  # looks since
    history: History = field(default_factory=History)

    def to_arrays(self) -> Arrays:
        """Everything as arrays by name."""
        counters = [*(getattr(self, name) for name in COUNTERS), self.iterates.length, self.iterates.count]
        arrays: dict[str, Any] = {
            "counters": np.array(counters, np.int64),
            "sums": np.array(self.iterates.sums),
            **{name: getattr(self, name) for name in PLAIN if getattr(self, name) is not None},
            **{f"memory_{i}": array for i, array in enumerate(self.memory)},
            **{f"history_{name}": np.array(values) for name, values in vars(self.history).items()},
        }
        return {name: np.ascontiguousarray(array) for name, array in arrays.items()}

    @classmethod
    def from_arrays(cls, arrays: Arrays, like: DescentState) -> DescentState:
        """The state that `to_arrays` was called on, of a descent that began `like` this.

        ValueError, KeyError or TypeError if no descent could have come to it.
        """
        *counters, length, count = map(index, arrays["counters"].tolist())
        held: dict[str, Any] = {name: arrays[name] for name in PLAIN if name in arrays}
        memory = tuple(array for name, array in arrays.items() if name.startswith("memory_"))
        iterates = Iterates(list(arrays["sums"]), length, count)
        history = History(**{name: arrays[f"history_{name}"].tolist() for name in vars(History())})
        numbers: dict[str, Any] = dict(zip(COUNTERS, counters, strict=True))
        found = cls(**numbers, **held, memory=memory, iterates=iterates, history=history)
        found._check(like)
        return found

    def _check(self, like: DescentState) -> None:
        """ValueError for shapes, types or lengths that do not match."""
        p, sums, history = like.x.shape, self.iterates.sums, self.history
        points = [self.x, *sums, *([] if self.best is None else [self.best])]
        ones = [self.norms, *([] if self.best_losses is None else [self.best_losses])]
        length, count = self.iterates.length, self.iterates.count
        n_steps = {len(values) for name, values in vars(history).items() if not name.startswith("held_out")}
        lists = [np.asarray(values) for values in vars(history).values()]
        whole = (history.block, history.skipped, history.held_out_step)
        good = (
            all(one.shape == p and one.dtype == np.float64 for one in points)
            and all(one.ndim == 1 and one.dtype == np.float64 for one in ones)
            and [(one.shape, one.dtype) for one in self.memory]
            == [(np.shape(one), np.asarray(one).dtype) for one in like.memory]
            and all(one.ndim == 1 and one.dtype.kind in "if" for one in lists)
            and all(isinstance(value, int) for values in whole for value in values)
            and len(history.held_out) == len(history.held_out_step)
            and (self.best is None) == (self.best_losses is None)
            and min(getattr(self, name) for name in COUNTERS) >= 0
            and length >= 1
            and count == self.step
            and len(sums) == -(-count // length)
            and len(sums) <= MOST_CHUNKS
            and self.norms.size <= NORMS
            and n_steps == {self.step}
            and all(np.isfinite(one).all() for one in points)
        )
        if not good:
            raise ValueError("its arrays are of no descent of this model")
