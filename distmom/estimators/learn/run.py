"""One descent on rows: start, steps, end; it resumes from a checkpoint with the same bits."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from distmom.cluster.interrupts import interrupts
from distmom.errors import NoAnswerError
from distmom.estimators.learn.doubts.doubts import Doubts
from distmom.estimators.learn.end.finish import finish
from distmom.estimators.learn.end.fits import SampleFit
from distmom.estimators.learn.parameters import BLOCK_SIZE, LearnOptions, Shape
from distmom.estimators.learn.rows import Met, TrainingRows
from distmom.estimators.learn.scale import Scale
from distmom.estimators.learn.shared import SharedBlocks
from distmom.estimators.learn.start.sample import expect, order_of
from distmom.estimators.learn.steps import StepPosition, step_rows
from distmom.numerics.arrays import Floats, Ints
from distmom.numerics.losses.block_risk import BlockRisk
from distmom.numerics.median import lower_median
from distmom.numerics.random.virtual_order import VirtualOrder
from distmom.solvers.blocks import RiskBlocks
from distmom.solvers.coordinates import Accused, Coordinates, SeenBlocks
from distmom.solvers.descent import Descent, descend
from distmom.solvers.held_out import HeldOut
from distmom.solvers.projections import Projection, unconstrained
from distmom.solvers.state import DescentState
from distmom.solvers.status import DescentStatus
from distmom.state import Checkpoint, Saved
from distmom.state.checkpoint import Content
from distmom.state.saved import Change, understood
from distmom.status import Status

if TYPE_CHECKING:
    from distmom.cluster import Executor, Progress
    from distmom.lake import FileRef

logger = logging.getLogger("distmom")

EVERY = 60.0
"""Seconds between two log lines."""

KIND = "training"

ALL_ROWS = Change("the order of the rows depends on their number", "to begin anew")

MOST_START_BLOCKS = 101

ROWS_OF_A_LOOK, FEWEST_STEPS = 17_600, 5
"""Rows of the steps between two evaluations of held-out blocks: 25 steps with 11 blocks of 64 rows."""

JUDGES = 31
"""Fewest blocks of the sample that judge the gradient if none are held out."""


@dataclass(frozen=True)
class Problem:
    """What is sought, from which start, and the natural size of a step.

    At a `blind` start losses do not distinguish blocks. It is then moved by one step along the coordinatewise
    median of the gradients of the blocks of the sample. Blocks of the `wanted` size hold what is rare.

    With a `curvature`, the largest second derivative of the loss in a linear predictor, features may be
    whitened, and the gradient is judged. So it is where parameters are `even`: of one curvature as they are.
    """

    risk: BlockRisk
    start: Floats
    step: float
    projection: Projection = unconstrained
    blind: bool = False
    curvature: float | None = None
    even: bool = False
    wanted: int = BLOCK_SIZE


@dataclass(frozen=True)
class ScaledSample:
    """Rows of the sample, scaled, and the blocks of a step."""

    features: Floats
    targets: Floats
    shape: Shape
    seed: int
    clump: float | None = None  # the target that many rows have

    def blocks(self) -> tuple[Floats, Floats]:
        """The sample cut into blocks of a step's size."""
        return cut(self.features, self.targets, self.shape.block_size)


def cut(features: Floats, targets: Floats, size: int) -> tuple[Floats, Floats]:
    """Rows cut into full blocks of a size."""
    size = max(1, min(size, len(targets)))
    n = max(1, len(targets) // size)
    return features[: n * size].reshape(n, size, -1), targets[: n * size].reshape(n, size)


def _as_they_are(gradients: Floats) -> Floats:
    return gradients


@dataclass
class Training:
    """One descent: what is fixed before the first step, where it stands, and what it found."""

    seed: int
    scale: Scale
    shape: Shape
    risk: BlockRisk
    descent: Descent
    state: DescentState
    # where the step after the last complete one begins, and the rows that were met
    place: StepPosition = StepPosition()  # noqa: RUF009
    found: Floats = field(init=False)  # the same in the coordinates of the steps
    x: Floats = field(init=False)  # the best averaged point on held-out blocks, or the last one
    status: DescentStatus = field(init=False)
    judges: tuple[Floats, Floats] | None = None  # scaled rows of the sample: judges if none are held out
    sample: tuple[Floats, Floats] | None = None  # all of its rows, scaled
    numbers: Ints | None = None  # of these rows
    doubts: Doubts = Doubts()  # noqa: RUF009
    loss_flags: tuple[Status, ...] = ()  # what the mean says of their losses
    coordinates: Coordinates | None = None  # in which steps are taken
    accused: Accused | None = None  # rows whose blocks are passed over
    fit: SampleFit | None = None  # to the rows of the sample that are not accused
    judge: Coordinates | None = None  # in which the gradient is judged
    even: bool = False  # whether these are the coordinates of the steps, which then go on until it is noise
    accused_share: float = 0.0  # of the rows of the sample
    too_many: float = 0.0  # share of them that would be accused, were they not too many
    step_seconds: float = field(init=False)  # mean time of a step, fetching its rows included

    def order(self, source: TrainingRows) -> VirtualOrder:
        """The order of the rows of a source, held-out ones first."""
        return order_of(self.seed, source, self.shape)

    def blocks(
        self, features: Floats, targets: Floats, crew: Executor | None = None
    ) -> RiskBlocks | SeenBlocks:
        """Blocks of scaled rows, as a step sees them."""
        of = self.risk, features, targets
        blocks = RiskBlocks(*of) if crew is None else SharedBlocks(*of, crew)
        plainly = self.coordinates is None and self.accused is None
        return blocks if plainly else SeenBlocks(blocks, self.coordinates, self.accused)

    def stops_early(self, options: LearnOptions) -> bool:
        """Whether blocks of the sample may stop it if none are held out."""
        return self.even and options.early_stopping is not False

    def held_out(self, blocks: RiskBlocks | SeenBlocks, tolerance: float) -> HeldOut:
        """Blocks by which convergence is judged."""
        judged_in = None
        if self.judge is not None:
            # blocks in coordinates of their own have gradients by these
            judged_in = _as_they_are if self.coordinates is not None else self.judge.gradients
        persistent, every = self.even, HeldOut.every
        if persistent:  # large steps need not be as many
            step = self.shape.n_blocks * self.shape.block_size
            every = max(FEWEST_STEPS, min(every, ROWS_OF_A_LOOK // step))
        return HeldOut(blocks, every, tolerance=tolerance, judged_in=judged_in, persistent=persistent)


@dataclass(frozen=True)
class DescentKeeper:
    """The state of one run on these files: where it resumes, and what is saved of it."""

    checkpoint: Checkpoint
    files: tuple[FileRef, ...]

    def resume(self, training: Training) -> None:
        """Resume from the state, if there is one."""
        saved = self.checkpoint.saved
        if saved is not None:
            found = understood(self.checkpoint.name, lambda: _descent(saved, training.state))
            training.state, training.place = found

    def content(self, training: Training) -> Content | None:
        """What is saved; None in the middle of a step."""
        state, place = training.state, training.place
        if len(state.history.objective) != state.step or state.iterates.count != state.step:
            return None
        facts = {"place": [place.number, place.row, *place.met], "n_steps": state.step}
        return Content(self.files, facts, state.to_arrays())


def _descent(saved: Saved, begun: DescentState) -> tuple[DescentState, StepPosition]:
    number, row, *met = map(int, saved.facts["place"])
    place = StepPosition(number, row, Met(**dict(zip(Met._fields, met, strict=True))))
    return DescentState.from_arrays(saved.arrays, begun), place


def learn(
    training: Training,
    source: TrainingRows,
    options: LearnOptions,
    keeper: DescentKeeper | None = None,
    watch: Callable[[DescentState], None] | None = None,
    crew: Executor | None = None,
) -> None:
    """Robust descent on the rows of a source, which was prepared with the same options.

    `watch` is called with the state after each step; a `crew` computes the blocks and never changes a bit.

    NoAnswerError if there are too few rows, or half or more of the blocks of several steps have no finite
    loss.
    """
    if keeper is not None:
        keeper.resume(training)
    expect(source, training.seed, training.shape, training.place, sample=False)
    held_out, met = _held_out(training, source, options.tol)
    judges, training.judges = training.judges, None
    looks = held_out
    if held_out is not None:
        judges = held_out.rows
    elif judges is not None and training.judge is not None:
        size = min(training.shape.block_size, len(judges[1]) // JUDGES)
        blocks = training.blocks(*cut(*judges, size))
        if blocks.usable.any():
            looks = replace(training.held_out(blocks, options.tol), recorded=False)
    steered = looks if held_out is not None or training.stops_early(options) else None
    walk(training, source, options.max_iter, 0, steered, keeper, watch, crew)
    training.place = training.place._replace(met=training.place.met.joined(met))
    finish(training, source.files, judges, looks if steered is None else None)


def walk(
    training: Training,
    source: TrainingRows,
    n_steps: int,
    first_pass: int,
    held_out: HeldOut | None = None,
    keeper: DescentKeeper | None = None,
    watch: Callable[[DescentState], None] | None = None,
    crew: Executor | None = None,
) -> None:
    """Steps on the rows of a source, from where the training stands up to the step `n_steps`."""
    state, shape, scale = training.state, training.shape, training.scale
    coming, began, first = training.place, perf_counter(), state.step
    size = shape.n_blocks, shape.block_size
    rows = step_rows(training.order(source), source, *size, coming, n_steps - first, first_pass)

    def blocks() -> Iterator[RiskBlocks | SeenBlocks]:
        nonlocal coming
        for features, targets, coming in rows:  # noqa: B007 (it is what `after` keeps)
            yield training.blocks(scale.features(features), scale.targets(targets), crew)

    def after(state: DescentState) -> None:
        training.place = coming
        note()
        interrupts.check()
        if watch is not None:
            watch(state)

    kept: Any = nullcontext(lambda: None)
    if keeper is not None:
        kept = keeper.checkpoint.keeping(lambda: keeper.content(training))
    with kept as note, closing(rows):
        found = descend(training.descent, blocks(), state, n_steps, held_out, after)
        training.place = coming
    if keeper is not None:
        keeper.checkpoint.save(keeper.content(training))
    if not found.status.good:
        raise NoAnswerError(f"step {state.step + 1}: {found.status}")
    training.found, training.status = found.x, found.status
    place = training.coordinates
    training.x = found.x if place is None else place.point(found.x)
    training.step_seconds = (perf_counter() - began) / max(1, state.step - first)


class Watch:
    """Called after each step: a log line a minute with the time left; silent without progress."""

    def __init__(self, n_steps: int, progress: Progress | None) -> None:
        self.n_steps, self.progress = n_steps, progress
        self.said, self.first = monotonic(), -1

    def __call__(self, state: DescentState) -> None:
        """Report progress once in a while."""
        if self.progress is None:
            return
        self.progress.advance(0, 0)  # there is progress, though not of rows
        now = monotonic()
        if self.first < 0:
            self.first, self.began = state.step, now
        if now - self.said < EVERY:
            return
        self.said = now
        rate = (state.step - self.first) / max(now - self.began, 1e-3)
        left = f"{(self.n_steps - state.step) / rate:.0f} s left" if rate else "unknown time left"
        loss = (state.history.held_out or state.history.objective)[-1]
        logger.info("training: step %d of at most %d, loss %.4g, %s", state.step, self.n_steps, loss, left)


def seeing_start(problem: Problem, sample: ScaledSample) -> Floats:
    """The start, moved to where losses depend on the rows."""
    blocks = [part[:MOST_START_BLOCKS] for part in sample.blocks()]
    step = RiskBlocks(problem.risk, blocks[0], blocks[1])
    places = np.flatnonzero(step.usable)
    if not places.size:
        return problem.start
    gradients = step.gradients(problem.start, places.tolist())
    moved = problem.start - problem.step * lower_median(gradients, axis=0)
    return moved if np.isfinite(moved).all() else problem.start


def _held_out(training: Training, source: TrainingRows, tolerance: float) -> tuple[HeldOut | None, Met]:
    """The fixed blocks for stopping, and their rows; None without them, or if most rows do not count."""
    size, scale = training.shape.held_out_size, training.scale
    if not training.shape.n_held_out:
        return None, Met()
    found = source.fetch(training.order(source).held_out())
    met = Met().plus(found)
    keep = np.flatnonzero(found.used)
    n = keep.size // size
    n -= 1 - n % 2
    if n < 3:
        return None, met
    keep = keep[: n * size]
    features = scale.features(found.features[keep]).reshape(n, size, -1)
    blocks = training.blocks(features, scale.targets(found.targets[keep]).reshape(n, size))
    return training.held_out(blocks, tolerance) if blocks.usable.any() else None, met
