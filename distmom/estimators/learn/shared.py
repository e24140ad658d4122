"""Blocks whose losses and gradients are computed by a crew: threads, or the workers of a cluster."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from distmom.cluster.executors.crew import Crew, CrewLostError, crew_of
from distmom.errors import ConfigError
from distmom.estimators.learn.parameters import Shape
from distmom.numerics.arrays import Bools, Floats
from distmom.numerics.losses.block_risk import BlockRisk, UserRisk
from distmom.solvers.blocks import RiskBlocks

if TYPE_CHECKING:
    from distmom.cluster import Executor

logger = logging.getLogger("distmom")

Part = tuple[Floats, Floats]
"""Rows and targets of some blocks of several steps."""

COMPUTE = ("auto", "here", "workers")

A_PAIR, A_VALUE = 15e-9, 3e-9
"""Seconds for the loss of a pair of rows, and for a value of a row, about."""

WORTH_THREADS, WORTH_WORKERS = 3e-3, 60e-3
"""Seconds of a step from which on it is shared: threads are asked in no time, workers in 5 to 20 ms."""


def place_of_blocks(
    risk: BlockRisk, shape: Shape, n_features: int, executor: Executor | None, asked: str = "auto"
) -> tuple[Crew | None, str]:
    """Who computes the blocks of a step (None: the process that takes the steps), and why.

    Raises
    ------
    ConfigError
        If workers are asked for where they cannot be.
    """
    if isinstance(risk, UserRisk):
        if asked == "workers":
            raise ConfigError('compute: a loss of your own is computed here; drop compute="workers"')
        return None, "blocks are computed here: the loss is a function of yours"
    if executor is None or asked == "here":
        return None, "blocks are computed here, one after the other"
    seconds = _seconds(risk, shape, n_features)
    who, worth = ("workers", WORTH_WORKERS) if executor.far else ("threads", WORTH_THREADS)
    about = f"a step takes about {1e3 * seconds:.2g} ms"
    if asked == "auto" and (executor.threads < 2 or seconds < worth):
        return None, f"blocks are computed here: {about}, less than it is worth asking {who}"
    crew = crew_of(executor)
    return crew, f"blocks are computed by {crew.size} {who}: {about}"


def _seconds(risk: BlockRisk, shape: Shape, n_features: int) -> float:
    """What the losses of a step cost, about."""
    size = shape.block_size
    block = A_VALUE * size * n_features
    if risk.pairwise:
        block += A_PAIR * size * (size - 1) / 2
    return shape.n_blocks * block


@dataclass(frozen=True)
class SharedBlocks:
    """The blocks of one step, of this number among those that a crew holds.

    Each part has a group of blocks ``[start, stop)``. The same blocks are `here`, for what is asked of few of
    them and for when the crew is lost.
    """

    here: RiskBlocks
    crew: Crew
    number: int
    groups: Sequence[tuple[int, int]]

    @property
    def usable(self) -> Bools:
        """Blocks whose loss says something."""
        return self.here.usable

    def losses(self, x: Floats) -> Floats:
        """Loss of each block."""
        question = partial(_losses, self.here.risk, self.number, x)
        found = self._ask([(part, question) for part in range(len(self.groups))])
        return self.here.losses(x) if found is None else found

    def gradients(self, x: Floats, blocks: Sequence[int]) -> Floats:
        """Gradients of the losses of some blocks, one a row."""
        questions = []
        for part, (start, stop) in enumerate(self.groups):
            inside = tuple(k - start for k in blocks if start <= k < stop)
            if inside:
                questions.append((part, partial(_gradients, self.here.risk, self.number, x, inside)))
        found = self._ask(questions) if len(questions) > 1 else None
        return self.here.gradients(x, blocks) if found is None else found

    def _ask(self, questions: Sequence[tuple[int, Callable[[Part], Floats]]]) -> Floats | None:
        try:
            return np.concatenate(self.crew.ask(questions))
        except CrewLostError as error:
            logger.warning("blocks of a step are computed here, as the workers did not answer: %s", error)
            return None


def _losses(risk: BlockRisk, number: int, x: Floats, part: Part) -> Floats:
    """Losses of a part's blocks in a step."""
    return RiskBlocks(risk, part[0][number], part[1][number]).losses(x)


def _gradients(risk: BlockRisk, number: int, x: Floats, blocks: tuple[int, ...], part: Part) -> Floats:
    """Gradients of some of a part's blocks in a step."""
    return RiskBlocks(risk, part[0][number], part[1][number]).gradients(x, blocks)


def share(steps: Sequence[RiskBlocks], crew: Crew) -> list[SharedBlocks]:
    """Have a crew hold the blocks of these steps."""
    n_blocks = len(steps[0].targets)
    cuts = np.linspace(0, n_blocks, min(crew.size, n_blocks) + 1).astype(int).tolist()
    groups = list(pairwise(cuts))
    parts = [
        (np.stack([s.rows[a:b] for s in steps]), np.stack([s.targets[a:b] for s in steps])) for a, b in groups
    ]
    crew.hold(parts)
    return [SharedBlocks(step, crew, number, groups) for number, step in enumerate(steps)]
