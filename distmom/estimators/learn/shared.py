"""Blocks whose losses and gradients are computed by a crew: threads, or the workers of a cluster."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from distmom.cluster.executors.crew import Crew, CrewLostError, crew_of
from distmom.errors import ConfigError
from distmom.estimators.learn.options import Shape
from distmom.numerics.arrays import Bools, Floats
from distmom.numerics.losses.block_risk import BlockRisk, UserRisk
from distmom.solvers import RiskBlocks

if TYPE_CHECKING:
    from distmom.cluster import Executor

logger = logging.getLogger("distmom")

COMPUTE = ("auto", "here", "workers")

A_PAIR, A_VALUE = 15e-9, 3e-9
"""Seconds for the loss of a pair of rows, and for a value of a row, about."""

WORTH_THREADS, WORTH_WORKERS = 3e-3, 60e-3
"""Seconds of a step from which on it is shared: threads are asked in no time, workers in 5 to 20 ms."""


@dataclass(frozen=True)
class Place:
    """Who computes the blocks of a step, and why.

    Attributes
    ----------
    crew : Crew or None
        None is the process that takes the steps.
    reason : str
    """

    crew: Crew | None
    reason: str


def place_of_blocks(
    risk: BlockRisk, shape: Shape, n_features: int, executor: Executor | None, asked: str = "auto"
) -> Place:
    """Decide who computes.

    Raises
    ------
    ConfigError
        If workers are asked for where they cannot be.
    """
    seconds = _seconds(risk, shape, n_features)
    if isinstance(risk, UserRisk):
        if asked == "workers":
            raise ConfigError('compute: a loss of your own is computed here; drop compute="workers"')
        return Place(None, "blocks are computed here: the loss is a function of yours")
    if executor is None or asked == "here":
        return Place(None, "blocks are computed here, one after the other")
    who = "workers" if executor.far else "threads"
    worth = WORTH_WORKERS if executor.far else WORTH_THREADS
    about = f"a step takes about {1e3 * seconds:.2g} ms"
    if asked == "auto" and (executor.threads < 2 or seconds < worth):
        return Place(None, f"blocks are computed here: {about}, less than it is worth asking {who}")
    crew = crew_of(executor)
    return Place(crew, f"blocks are computed by {crew.size} {who}: {about}")


def _seconds(risk: BlockRisk, shape: Shape, n_features: int) -> float:
    """What the losses of a step cost, about."""
    size = shape.block_size
    block = A_VALUE * size * n_features
    if risk.pairwise:
        block += A_PAIR * size * (size - 1) / 2
    return shape.n_blocks * block


@dataclass(frozen=True)
class SharedBlocks:
    """The blocks of one step among those that a crew holds.

    Attributes
    ----------
    here : RiskBlocks
        The same blocks, for what is asked of few of them and for when the crew is lost.
    crew : Crew
    number : int
        Of the step among those held.
    groups : sequence of (int, int)
        Blocks ``[start, stop)`` of each part.
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
        question = Losses(self.here.risk, self.number, x)
        try:
            return np.concatenate(self.crew.ask([(g, question) for g in range(len(self.groups))]))
        except CrewLostError as error:
            return self._alone(error).losses(x)

    def gradients(self, x: Floats, blocks: Sequence[int]) -> Floats:
        """Gradients of the losses of some blocks, one a row."""
        questions = []
        for part, (start, stop) in enumerate(self.groups):
            inside = tuple(k - start for k in blocks if start <= k < stop)
            if inside:
                questions.append((part, Gradients(self.here.risk, self.number, x, inside)))
        if len(questions) < 2:
            return self.here.gradients(x, blocks)
        try:
            return np.concatenate(self.crew.ask(questions))
        except CrewLostError as error:
            return self._alone(error).gradients(x, blocks)

    def _alone(self, error: CrewLostError) -> RiskBlocks:
        logger.warning("blocks of a step are computed here, as the workers did not answer: %s", error)
        return self.here


@dataclass(frozen=True)
class Losses:
    """Asks a part for the losses of its blocks in a step."""

    risk: BlockRisk
    number: int
    x: Floats

    def __call__(self, part: tuple[Floats, Floats]) -> Floats:
        """The answer."""
        return _step(self.risk, part, self.number).losses(self.x)


@dataclass(frozen=True)
class Gradients:
    """Asks a part for the gradients of some of its blocks in a step."""

    risk: BlockRisk
    number: int
    x: Floats
    blocks: tuple[int, ...]

    def __call__(self, part: tuple[Floats, Floats]) -> Floats:
        """The answer."""
        return _step(self.risk, part, self.number).gradients(self.x, self.blocks)


def _step(risk: BlockRisk, part: tuple[Floats, Floats], number: int) -> RiskBlocks:
    return RiskBlocks(risk, part[0][number], part[1][number])


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
