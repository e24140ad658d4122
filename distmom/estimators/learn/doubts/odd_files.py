"""Files whose rows the model fits differently, found in the sample at the end.

The means of the columns reveal files with other values. A file with wrong targets, or with other targets for
the same features, has the same columns, but other losses.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from distmom.estimators.learn.rows import FileRanges
from distmom.numerics.arrays import Floats, Ints
from distmom.numerics.losses.block_risk import BlockRisk
from distmom.numerics.losses.row_risks import LinearRisk
from distmom.numerics.median import MAD
from distmom.report.words import listed
from distmom.solvers.coordinates import Accused
from distmom.status import Status
from distmom.words import printable

FEWEST_FILES, FEWEST = 8, 8
"""With fewer files, or fewer losses of a file in the sample, nothing is reported."""

APART = 8.0
"""Robust standard deviations of a file's mean loss from the median, by chance or between files."""

HIGH, FEW_CATEGORIES = 0.95, 50
"""Losses are capped at this quantile; with more distinct targets than this they are outcomes, not labels."""


def odd_files(
    risk: BlockRisk,
    x: Floats,
    rows: Floats,
    targets: Floats,
    files: NDArray[np.int64],
    accused: Accused | None = None,
) -> tuple[int, ...]:
    """Numbers of the files whose losses, of rows that are not accused, differ from those of the others.

    Examples
    --------
    >>> g = np.random.default_rng(0)
    >>> rows, files = g.normal(size=(2_000, 1)), np.arange(2_000) // 100
    >>> targets = rows[:, 0] + g.normal(size=2_000)
    >>> w, risk = np.array([1.0, 0.0]), LinearRisk("huber")
    >>> odd_files(risk, w, rows, targets, files)
    ()
    >>> odd_files(risk, w, rows, np.where(files == 7, 3.0 * targets, targets), files)
    (7,)
    """
    if not risk.least_rows:
        return ()
    if accused is not None:
        kept = ~accused(rows, targets)
        rows, targets, files = rows[kept], targets[kept], files[kept]
    losses, categories, of = _losses(risk, x, rows, targets, files)
    with np.errstate(invalid="ignore"):
        losses = np.sqrt(np.maximum(losses, 0.0))  # squared differences between files have long tails
    finite = losses[np.isfinite(losses)]
    if not finite.size:
        return ()
    most = float(np.quantile(finite, HIGH)) or float(finite.max())
    losses = np.minimum(np.where(np.isnan(losses), np.inf, losses), most)
    for one in np.unique(categories):  # a file of one label is not odd for that
        losses[categories == one] -= losses[categories == one].mean()
    count = np.bincount(of)
    known = np.flatnonzero(count >= FEWEST)
    if known.size < FEWEST_FILES:
        return ()
    mean = np.bincount(of, losses)[known] / count[known]
    square = np.bincount(of, losses * losses)[known] / count[known]
    within = float(np.median(np.maximum(square - mean * mean, 0.0)))
    away = np.abs(mean - np.median(mean))
    spread = np.maximum(MAD * float(np.median(away)), np.sqrt(within / count[known]))
    return tuple(known[away > APART * np.maximum(spread, 1e-12)].tolist())


def _losses(
    risk: BlockRisk, x: Floats, rows: Floats, targets: Floats, files: Ints
) -> tuple[Floats, Floats, Ints]:
    """Losses of rows, or of pairs of rows of one file; what they are compared within; their files."""
    order = np.argsort(files, kind="stable")
    size = risk.least_rows
    starts = np.flatnonzero(np.diff(files[order], prepend=-1))
    rank = np.arange(order.size) - np.repeat(starts, np.diff(starts, append=order.size))
    begins = np.flatnonzero(rank % size == 0)
    begins = begins[begins + size <= order.size]
    begins = begins[files[order[begins]] == files[order[begins + size - 1]]]
    of = order[begins[:, None] + np.arange(size)]
    y = targets[of]
    with np.errstate(all="ignore"):
        losses = np.array(risk.losses(x, rows[of], y), np.float64)
    categories = np.zeros(len(of))
    if size > 1:
        categories = (y[:, 0] == y[:, 1]).astype(np.float64)
    elif not isinstance(risk, LinearRisk) and np.unique(y).size <= FEW_CATEGORIES:
        categories = y[:, 0]
    return losses, categories, files[of[:, 0]]


def named_odd_files(
    of: FileRanges,
    numbers: Ints,
    risk: BlockRisk,
    x: Floats,
    rows: Floats,
    targets: Floats,
    accused: Accused | None,
) -> tuple[tuple[str, ...], int]:
    """Their names, and the number of all files; `numbers` are those of the rows in the lake."""
    found = odd_files(risk, x, rows, targets, of.of(numbers), accused)
    return tuple(of.names[i] for i in found), len(of.names)


def told(odd: Sequence[str], n_files: int) -> tuple[list[Status], list[str]]:
    """The note about them."""
    if not odd:
        return [], []
    names = listed(map(printable, odd))
    note = (
        f"the model fits the rows of {len(odd)} of {n_files:,} files otherwise than those of the rest: "
        f"{names}; they are in the model, so look at them, or leave them out"
    )
    return [Status.FILES_DISAGREE], [note]
