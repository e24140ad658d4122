"""Where a descent stands: all that a checkpoint must hold to go on with the same bits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distmom.numerics.arrays import Floats
from distmom.solvers.iterates import Iterates
from distmom.solvers.step_sizes import Memory

NORMS = 101
"""Gradient norms that the running median is taken of."""

COUNTERS = ("step", "idle", "infinite", "since_best")
PLAIN = ("x", "norms", "best", "best_losses")

Arrays = Mapping[str, NDArray[Any]]


@dataclass
class History:
    """One entry for each step.

    Attributes
    ----------
    objective : list of float
        Loss that the step went by (of the chosen block, the mean of the plain batch); NaN where no block
        could be used, infinite where half or more had no finite loss: the step was left out.
    block : list of int
        The chosen block; -1 for a combination, -2 where the step was left out.
    gradient_norm : list of float
        Before clipping.
    skipped : list of int
        Blocks that could not be used.
    held_out_step, held_out : list
        Steps after which the held-out blocks were looked at, and the lower median of their losses.
    """

    objective: list[float] = field(default_factory=list)
    block: list[int] = field(default_factory=list)
    gradient_norm: list[float] = field(default_factory=list)
    skipped: list[int] = field(default_factory=list)
    held_out_step: list[int] = field(default_factory=list)
    held_out: list[float] = field(default_factory=list)


@dataclass
class DescentState:
    """The iterate and what the rules remember.

    Attributes
    ----------
    step : int
        Steps taken.
    x : ndarray, shape (p,)
    memory : tuple of ndarray
        Of the step size.
    norms : ndarray
        The last gradient norms that were not zero, at most `NORMS`.
    iterates : Iterates
    idle, infinite : int
        Steps in a row that did not move, and that had no finite loss.
    best : ndarray or None
        The point with the best held-out losses, which are `best_losses`.
    since_best : int
        Looks since.
    history : History
    """

    step: int
    x: Floats
    memory: Memory
    norms: Floats = field(default_factory=lambda: np.zeros(0))
    iterates: Iterates = field(default_factory=Iterates)
    idle: int = 0
    infinite: int = 0
    best: Floats | None = None
    best_losses: Floats | None = None
    since_best: int = 0
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
    def from_arrays(cls, arrays: Arrays) -> DescentState:
        """The state that `to_arrays` was called on."""
        *counters, length, count = arrays["counters"].tolist()
        held: dict[str, Any] = {name: arrays[name] for name in PLAIN if name in arrays}
        memory = tuple(array for name, array in arrays.items() if name.startswith("memory_"))
        iterates = Iterates(list(arrays["sums"]), length, count)
        history = History(**{name: arrays[f"history_{name}"].tolist() for name in vars(History())})
        numbers = dict(zip(COUNTERS, counters, strict=True))
        return cls(**numbers, **held, memory=memory, iterates=iterates, history=history)
