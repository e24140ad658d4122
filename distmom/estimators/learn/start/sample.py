"""Rows that a fit looks at before its first step: the sample, and those gathered with it."""

from __future__ import annotations

import numpy as np

from distmom.errors import NoAnswerError
from distmom.estimators.learn.parameters import Shape
from distmom.estimators.learn.rows import LakeRows, TrainingRows
from distmom.estimators.learn.steps import StepPosition, first_span
from distmom.numerics.arrays import Floats, Ints
from distmom.numerics.random.virtual_order import VirtualOrder

SAMPLE = 8_192
"""Rows that determine scales, starts and step sizes."""


def order_of(seed: int, source: TrainingRows, shape: Shape) -> VirtualOrder:
    """The order of the rows of a source, those of held-out blocks first."""
    return VirtualOrder(seed, source.n_rows, shape.n_held_out * shape.held_out_size)


def expect(
    source: TrainingRows,
    seed: int,
    shape: Shape,
    place: StepPosition = StepPosition(),  # noqa: B008
    *,
    sample: bool = True,
) -> None:
    """Gather in one pass what a run with blocks of this shape fetches before its first step.

    If the blocks become others, the rows of the `sample` were gathered for it alone.
    """
    if isinstance(source, LakeRows):
        order, step_rows = order_of(seed, source, shape), shape.n_blocks * shape.block_size
        held_out, span = order.held_out(), first_span(order, source, step_rows, place)
        last = order.rows(span.number, span.stop - 1, span.stop)  # with it the others are held
        if source.reserve.places(np.concatenate([held_out, last])) is None:
            parts = [held_out, order.rows(*span)]
            source.expect([_sampled(source, seed), *parts] if sample else parts, step_rows)


def _sampled(source: TrainingRows, seed: int) -> Ints:
    """Numbers of the rows of the sample."""
    return VirtualOrder(seed, source.n_rows).rows(0, 0, SAMPLE)


def sample_of(source: TrainingRows, seed: int) -> tuple[Floats, Floats, float, Ints]:
    """The first rows of the order of all rows that count, their share, and their numbers."""
    numbers = _sampled(source, seed)
    found = source.fetch(numbers)
    features, targets = found.features[found.used], found.targets[found.used]
    if not targets.size:
        raise NoAnswerError(f"none of the {found.used.size:,} rows is complete; check the null counts")
    if not (np.isfinite(features).all(axis=tuple(range(1, features.ndim))) & np.isfinite(targets)).any():
        raise NoAnswerError(
            f"each of the {targets.size:,} rows has an infinite value; filter such values out with where, or "
            "clean the data"
        )
    return features, targets, targets.size / found.used.size, numbers[found.used]
