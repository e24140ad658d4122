"""Files whose rows the model fits differently, found in the sample at the end.

The means of the columns reveal files with other values. A file with wrong targets, or with other targets for
the same features, has the same columns, but other losses.

Probabilities say which losses to expect of features that differ between files, if labels depend on them as in
other files. Files that differ in their share of labels are compared label by label. A file is odd if neither
explains its losses.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from distmom.estimators.learn.rows import FileRanges
from distmom.numerics.arrays import Floats, Ints
from distmom.numerics.losses.block_risk import BlockRisk
from distmom.numerics.losses.pair_risks import RankingRisk
from distmom.numerics.losses.row_risks import LinearRisk, LogisticRisk, SoftmaxRisk
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
    groups = _groups(files, risk.least_rows)
    rows, targets, of = rows[groups], targets[groups], files[groups[:, 0]]
    losses = _roots(risk, x, rows, targets)
    finite = losses[np.isfinite(losses)]
    if not finite.size:
        return ()
    most = float(np.quantile(finite, HIGH)) or float(finite.max())
    losses = np.minimum(losses, most)
    odd = _apart(_within(losses, _categories(risk, targets)), of)
    expected = _expected(risk, x, rows, targets, most) if odd else None
    if expected is not None:
        odd &= _apart(losses - expected, of)
    return tuple(sorted(odd))


def _groups(files: Ints, size: int) -> Ints:
    """Numbers of rows, or of pairs of rows of one file, shape (n, size)."""
    order = np.argsort(files, kind="stable")
    starts = np.flatnonzero(np.diff(files[order], prepend=-1))
    rank = np.arange(order.size) - np.repeat(starts, np.diff(starts, append=order.size))
    begins = np.flatnonzero(rank % size == 0)
    begins = begins[begins + size <= order.size]
    begins = begins[files[order[begins]] == files[order[begins + size - 1]]]
    return np.asarray(order[begins[:, None] + np.arange(size)], np.int64)


def _roots(risk: BlockRisk, x: Floats, rows: Floats, targets: Floats) -> Floats:
    """Roots of losses: squared differences between files have long tails."""
    with np.errstate(all="ignore"):
        roots = np.sqrt(np.maximum(risk.losses(x, rows, targets), 0.0))
    return np.where(np.isnan(roots), np.inf, roots)


def _expected(risk: BlockRisk, x: Floats, rows: Floats, targets: Floats, most: float) -> Floats | None:
    """What the model expects of these roots, capped; None if its loss is not that of probabilities.

    Labels of other features are harder or easier to predict. That makes no file odd.
    """
    n = len(targets)
    if isinstance(risk, RankingRisk) and risk.loss == "logistic":
        outcomes = [np.tile(order, (n, 1)) for order in ([0.0, 1.0], [1.0, 0.0])]
    elif isinstance(risk, LogisticRisk) or (
        isinstance(risk, SoftmaxRisk) and risk.n_classes <= FEW_CATEGORIES
    ):
        outcomes = [np.full((n, 1), float(k)) for k in range(getattr(risk, "n_classes", 2))]
    else:
        return None
    roots = np.stack([_roots(risk, x, rows, one) for one in outcomes])
    with np.errstate(all="ignore"):
        log = -(roots * roots)
        likely = np.exp(log - log.max(axis=0))
        found = (likely * np.minimum(roots, most)).sum(axis=0) / likely.sum(axis=0)
    tied = risk.pairwise & (targets == targets[:, :1]).all(axis=1)
    return np.where(tied | ~np.isfinite(found), 0.0, found)


def _categories(risk: BlockRisk, targets: Floats) -> Floats:
    """Losses are compared among those of a label, or of pairs of equal or different ones."""
    if targets.shape[1] > 1:
        return np.asarray(targets[:, 0] == targets[:, 1], np.float64)
    labelled = not isinstance(risk, LinearRisk) and np.unique(targets).size <= FEW_CATEGORIES
    return targets[:, 0] if labelled else np.zeros(len(targets))


def _within(losses: Floats, categories: Floats) -> Floats:
    """Without the mean of each category: a file of one label is not odd for that."""
    _, codes, counts = np.unique(categories, return_inverse=True, return_counts=True)
    return np.asarray(losses - (np.bincount(codes, losses) / counts)[codes])


def _apart(losses: Floats, of: Ints) -> set[int]:
    """Files whose mean is far from the median of all."""
    count = np.bincount(of)
    known = np.flatnonzero(count >= FEWEST)
    if known.size < FEWEST_FILES:
        return set()
    mean = np.bincount(of, losses)[known] / count[known]
    square = np.bincount(of, losses * losses)[known] / count[known]
    within = float(np.average(np.maximum(square - mean * mean, 0.0), weights=count[known]))
    away = np.abs(mean - np.median(mean))
    spread = np.maximum(MAD * float(np.median(away)), np.sqrt(within / count[known]))
    return set(known[away > APART * np.maximum(spread, 1e-12)].tolist())


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
