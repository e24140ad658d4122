"""Blocks whose losses and gradients are computed by threads, or by the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from distmom.cluster import Call, ThreadExecutor, run_calls
from distmom.cluster.memory import usable_cpus
from distmom.errors import ConfigError
from distmom.estimators.learn.parameters import Shape
from distmom.numerics.arrays import Floats
from distmom.numerics.losses.block_risk import BlockRisk, UserRisk
from distmom.solvers.blocks import RiskBlocks

if TYPE_CHECKING:
    from distmom.cluster import Executor

COMPUTE = ("auto", "here", "workers")

A_PAIR, A_VALUE = 15e-9, 3e-9
"""Approximate seconds for the loss of a pair of rows, and for a value of a row."""

WORTH_THREADS, WORTH_WORKERS = 3e-3, 60e-3
"""Steps of this many seconds are shared: threads are reached at once, workers in about 20 ms."""


def place_of_blocks(
    risk: BlockRisk, shape: Shape, n_features: int, executor: Executor | None, asked: str = "auto"
) -> tuple[Executor | None, str]:
    """Who computes the blocks of a step (None: the process that takes the steps), and why.

    ConfigError if workers are requested but cannot be used.
    """
    if isinstance(risk, UserRisk):
        if asked == "workers":
            raise ConfigError('compute: a loss of your own is computed here; drop compute="workers"')
        return None, "blocks are computed here: the loss is a function of yours"
    if executor is None or asked == "here":
        return None, "blocks are computed here, one after the other"
    size = shape.block_size
    values, pairs = size * n_features, size * (size - 1) / 2 if risk.pairwise else 0.0
    seconds = shape.n_blocks * (A_VALUE * values + A_PAIR * pairs)
    about = f"a step takes about {1e3 * seconds:.2g} ms"
    if executor.far and (asked == "workers" or (executor.threads > 1 and seconds >= WORTH_WORKERS)):
        return executor, f"blocks are computed by {executor.threads} workers: {about}"
    threads = usable_cpus() if executor.far else executor.threads
    if asked == "workers" or (threads > 1 and seconds >= WORTH_THREADS):
        # threads of their own do not wait for the rows of further steps
        where = " of this process, as workers are reached later" if executor.far else ""
        return ThreadExecutor(threads), f"blocks are computed by {threads} threads{where}: {about}"
    who = "workers or threads" if executor.far else "threads"
    return None, f"blocks are computed here: {about}, too little to be worth sending to {who}"


@dataclass(frozen=True)
class SharedBlocks(RiskBlocks):
    """The blocks of one step, some of them for each thread of an executor."""

    crew: Executor

    def losses(self, x: Floats) -> Floats:
        """Loss of each block."""
        return self._asked(_losses, x, range(len(self.targets)))

    def gradients(self, x: Floats, blocks: Sequence[int]) -> Floats:
        """Gradients of the losses of some blocks, one a row."""
        return self._asked(_gradients, x, blocks) if len(blocks) > 1 else super().gradients(x, blocks)

    def _asked(
        self, what: Callable[[BlockRisk, Floats, Floats, Floats], Floats], x: Floats, blocks: Sequence[int]
    ) -> Floats:
        groups = np.array_split(np.array(blocks), min(self.crew.threads, len(blocks)))
        calls = [
            Call("blocks of a step", what, (self.risk, x, self.rows[k], self.targets[k])) for k in groups
        ]
        return np.concatenate(run_calls(calls, self.crew))


def _losses(risk: BlockRisk, x: Floats, rows: Floats, targets: Floats) -> Floats:
    """On a thread or worker."""
    return risk.losses(x, rows, targets)


def _gradients(risk: BlockRisk, x: Floats, rows: Floats, targets: Floats) -> Floats:
    """On a thread or worker."""
    return RiskBlocks(risk, rows, targets).gradients(x, range(len(rows)))
