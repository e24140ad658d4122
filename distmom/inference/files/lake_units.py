"""From the stretches of a lake to units of rows, and how the answer reports correlated rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from distmom.inference.answers import RuleAnswer
from distmom.inference.files.dependence import Dependence, Pieces, dependence, levels_of
from distmom.inference.files.odd_files import Rest, odd_files
from distmom.inference.ladder import Merger, scaled_mad
from distmom.inference.status import Finding
from distmom.inference.steps import CERTAIN
from distmom.numerics.arrays import Floats, Ints
from distmom.numerics.blocks.block_state import BlockState
from distmom.numerics.median import lower_median
from distmom.numerics.samples.stretches import Stretches


def dependence_of(
    paths: Mapping[int, str],
    stretches: Sequence[Stretches],
    rows: BlockState,
    *,
    outlying: int,
    rest: Rest | None = None,
) -> Dependence | None:
    """Dependence shown by the stretches of some columns with the same rows; `rows` are their row blocks.

    `paths` are those of `keyed_paths`. `rest` says which files are left out. None if nothing was
    kept of the order.
    """
    first = stretches[0]
    if not first.rows or first.files.size < 2:
        return None
    number = {key: i for i, key in enumerate(paths)}
    if not set(first.files.tolist()) <= set(number):
        return None
    names = list(paths.values())
    of_files = np.array([number[key] for key in first.files.tolist()], np.int64)
    kept = np.ones(of_files.size, np.bool_)
    if rest is not None:
        kept = ~np.isin(of_files, [i for i, name in enumerate(names) if name in set(rest.odd)])
    some = np.flatnonzero(kept)
    order = some[np.lexsort((first.numbers[some], of_files[some]))]
    numbers, of_files = first.numbers[order], of_files[order]
    whole = rows.total()
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = _of_good_blocks(rows) if outlying else np.asarray(whole.row_variance, np.float64)
        variance = variance if rest is None else rest.variance
        of_mean = variance / np.maximum(whole.effective, 1.0)
    if not (np.isfinite(variance) & (variance > 0.0)).all():
        return None
    mass = first.mass[order]
    of_mean = of_mean * (first.mass.sum() / mass.sum())
    _, present = np.unique(of_files, return_inverse=True)
    pieces = Pieces(
        levels_of(present, numbers, int(first.rows), _folders(names, of_files)),
        present,
        mass,
        np.stack([one.mean[order] for one in stretches]),
        variance * float(whole.mass.reshape(-1)[0]) / np.maximum(whole.effective, 1.0),
        of_mean,
        outlying,
    )
    return dependence(pieces)


def rest_of(paths: Mapping[int, str], stretches: Sequence[Stretches], rows: BlockState) -> Rest | None:
    """The rows of all files but those whose values differ from the rest; None if there are no such files."""
    first, whole = stretches[0], rows.total()
    keys, files = np.unique(first.files, return_inverse=True)
    mass = np.bincount(files, first.mass).astype(np.float64, copy=False)
    odd, within, means = np.zeros(keys.size, np.bool_), [], []
    for line, variance in zip(stretches, np.asarray(whole.row_variance).tolist(), strict=True):
        with np.errstate(invalid="ignore", over="ignore"):
            mean = np.bincount(files, line.mass * line.mean) / mass
            between = np.sum(mass * np.square(mean - np.sum(mass * mean) / mass.sum()))
            within.append((variance * mass.sum() - between) / max(mass.sum() - keys.size, 1.0))
        odd |= odd_files(mass, mean, within[-1])
        means.append(mean)
    if not odd.any() or not set(keys[odd].tolist()) <= set(paths):
        return None
    kept = mass[~odd]
    centre = np.array([np.sum(kept * mean[~odd]) for mean in means]) / kept.sum()
    between = np.array([np.sum(kept * np.square(m[~odd] - c)) for m, c in zip(means, centre, strict=True)])
    effective = float(np.asarray(whole.effective).reshape(-1)[0]) * kept.sum() / mass.sum()
    names = tuple(sorted(paths[key] for key in keys[odd].tolist()))
    return Rest(names, centre, np.array(within) + between / kept.sum(), effective)


def _of_good_blocks(rows: BlockState) -> Floats:
    """Variance of a row in blocks of about ten rows, without outlying blocks, as for `screen`."""
    fine = Merger(rows)
    size = max(ROWS_OF_BLOCK, int(fine.n.max(initial=0)) // rows.count.shape[1])
    blocks = Merger(fine.moments_at(np.maximum(fine.n // size, 1)))
    root, variance = np.sqrt(np.maximum(blocks.effective, 1.0)), blocks.blocks.row_variance
    z = (blocks.mean - lower_median(blocks.mean)[:, None]) * root
    spread = np.maximum(scaled_mad(z), np.sqrt(lower_median(variance)))[:, None]
    far = np.maximum(CERTAIN, 0.5 * np.sqrt(blocks.n_filled))[:, None]
    good = blocks.filled & np.isfinite(variance) & (np.abs(z) <= far * spread)
    freedom = np.where(good, blocks.effective - 1.0, 0.0)
    return np.asarray(np.sum(freedom * np.where(good, variance, 0.0), axis=1) / freedom.sum(axis=1))


ROWS_OF_BLOCK = 10
"""Least number of rows of a block whose variance can be estimated."""


def _folders(names: Sequence[str], of_files: Ints) -> list[Ints]:
    """Number of the folder of each piece at each depth, from the inmost on."""
    parts = [name.split("/")[:-1] for name in names]
    depth = max((len(part) for part in parts), default=0)
    found = []
    for above in range(depth):
        heads = ["/".join(part[: len(part) - above]) for part in parts]
        _, numbers = np.unique(heads, return_inverse=True)
        found.append(np.asarray(numbers, np.int64)[of_files])
    return found


def tell(answer: RuleAnswer, lines: slice, found: Dependence | None, delta: float, *, pays: bool) -> None:
    """Record in some lines of the answer that rows are correlated; if `pays`, give the interval of units."""
    if found is None or found.in_order:
        return
    estimate = answer.estimate[lines]
    low = high = np.full(estimate.size, np.nan)
    if pays and found.clusters is not None:
        low, high = found.clusters.interval(estimate, delta)
        rows = answer.intervals.order_high[lines] - answer.intervals.order_low[lines]
        if (high - low <= rows).all():
            return
    answer.file_effect[lines] = found.effect
    answer.status[lines] |= int(Finding.ROWS_CORRELATED)
    answer.files_low[lines], answer.files_high[lines] = low, high
