"""The permutation test of one column: rows of both samples, cut into units that are exchangeable."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from distmom.cluster import Executor, Progress, run_units
from distmom.cluster.work import ReadAndReduce
from distmom.estimators.compare.options import Compared
from distmom.estimators.mean.plan import MeanPlan
from distmom.numerics.arrays import Floats, Ints
from distmom.numerics.blocks.labels import repeat_seed
from distmom.numerics.permutation_test import Units, p_values
from distmom.numerics.random.philox import stream_key
from distmom.reductions.row_sample import SampleRows, ShuffledSample

MOST_UNITS = 400
"""Units of the test, of both samples together: rows or units are put together to have no more."""

FEW_UNITS = 20
"""Unless one sample would be left with fewer units than these; then there may be twice as many."""

BANDWIDTH_ROWS = 500
"""Rows of each sample whose median distance is the bandwidth."""


class Tested(NamedTuple):
    """What the permutations say."""

    p_values: list[float | None]  # in the order of the statistics; None where the statistic is not finite
    n_rows: tuple[int, int]  # of each sample that took part
    n_units: tuple[int, int]
    smallest: float  # no p-value can be below
    finite: bool  # all of these rows


def draw_rows(
    plans: Sequence[MeanPlan], size: int, seed: int, executor: Executor, progress: Progress | None
) -> tuple[ShuffledSample, ShuffledSample]:
    """So many rows of each sample, at random; of units equal shares of the rows, or they would differ."""
    found = []
    for number, plan in enumerate(plans):
        reduction = plan.reduction
        sampling = SampleRows(size, repeat_seed(seed, number))
        work = ReadAndReduce(
            plan.reader,
            sampling,
            on_bad_file=plan.options.on_bad_file,  # type: ignore[arg-type]
            unit_seed=reduction.seed if plan.reader.options.units else None,
            compiled=reduction.compiled,
        )
        found.append(run_units(work, plan.units, sampling.merge, executor, progress=progress).state)
    first, second = found
    if plans[0].options.design.of_units:
        limit = min((one.numbers[-1] for one in found if one.full), default=None)
        if limit is not None:
            return first.below(limit), second.below(limit)
    return first, second


def bandwidth_of(samples: Sequence[ShuffledSample]) -> float:
    """The median distance of two rows; where most are equal, the mean of the positive distances; else 1."""
    rows = np.concatenate([one.values[np.isfinite(one.values)][:BANDWIDTH_ROWS] for one in samples])
    with np.errstate(over="ignore"):
        apart = np.abs(rows[:, None] - rows[None, :])[np.triu_indices(rows.size, 1)]
    apart = apart[np.isfinite(apart)]
    if apart.size == 0 or not (apart > 0.0).any():
        return 1.0
    middle = float(np.median(apart))
    return middle if middle > 0.0 else float(apart[apart > 0.0].mean())


def permuted_test(
    samples: tuple[ShuffledSample, ShuffledSample],
    statistics: Sequence[Compared],
    n_permutations: int,
    seed: int,
    *,
    by_units: bool,
) -> Tested:
    """p-values of the statistics, all from the same permutations."""
    units = exchangeable(samples, by_units=by_units)
    n_units = (units.n_first, units.n_units - units.n_first)
    split = int(units.starts[units.n_first])
    n_rows = (split, units.values.size - split)
    smallest = max(1.0 / (n_permutations + 1), 1.0 / math.comb(units.n_units, units.n_first))
    finite = bool(np.isfinite(units.values).all())
    ready = [min(n_rows) >= 2 and (finite or one.bears_infinities) for one in statistics]
    with np.errstate(invalid="ignore", over="ignore"):
        tests = [one.test(units) for one, good in zip(statistics, ready, strict=True) if good]
        found = iter(
            p_values(units, tests, stream_key(seed, "permutations"), n_permutations) if tests else ()
        )
    return Tested([next(found) if good else None for good in ready], n_rows, n_units, smallest, finite)


def exchangeable(samples: tuple[ShuffledSample, ShuffledSample], *, by_units: bool) -> Units:
    """Rows put together to units of equally many rows, or of equally many units of the lake.

    Rows and units come in a random order, so any of them may be put together; what does not fill a unit is
    left out.
    """
    kept = [_numbered(one, by_units=by_units) for one in samples]
    n = [number for _, _, number in kept]
    together = max(1, min(-(-sum(n) // MOST_UNITS), min(n) // FEW_UNITS))
    n_units = [number // together for number in n]
    most = 2 * MOST_UNITS
    if sum(n_units) > most:
        fewer = min(n_units)
        n_units = [min(one, max(most - fewer, most // 2)) for one in n_units]
    values: list[Floats] = []
    sizes: list[Ints] = []
    for (rows, unit, _), count in zip(kept, n_units, strict=True):
        mine = unit // together
        order = np.argsort(mine, kind="stable")
        order = order[mine[order] < count]
        values.append(rows[order])
        sizes.append(np.bincount(mine[order], minlength=count))
    starts = np.concatenate([[0], np.cumsum(np.concatenate(sizes))]).astype(np.int64)
    return Units(np.concatenate(values), starts, n_units[0])


def _numbered(sample: ShuffledSample, *, by_units: bool) -> tuple[Floats, Ints, int]:
    """Rows, number of the unit of each, number of units."""
    n = sample.values.size
    if not by_units:
        return sample.values, np.arange(n), n
    hashes, unit = np.unique(sample.units, return_inverse=True)
    return sample.values, unit.reshape(-1), hashes.size
