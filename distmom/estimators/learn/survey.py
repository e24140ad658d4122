"""What is bad in the columns that a learner reads, found before the descent; and the quality of its loss."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from distmom.cluster.executors.backends import Threads, as_backend
from distmom.errors import DoubtfulResultWarning, NoAnswerError
from distmom.estimators.learn.rows import ArrayRows
from distmom.estimators.mean.mean import mean
from distmom.estimators.session import quietly, warns
from distmom.estimators.survey import Surveyor
from distmom.estimators.surveyed import Survey
from distmom.numerics.arrays import Floats
from distmom.numerics.losses.block_risk import BlockRisk
from distmom.passes.scan import Scan, scan
from distmom.reductions.rows.gather import ABSENT, USED
from distmom.report.far_rows import FarRows
from distmom.status import Status

if TYPE_CHECKING:
    from distmom.cluster import Executor, Progress

Sample = Callable[[], tuple[Floats, Floats]]
"""Gives features of some rows, and their labels as numbers."""

Real = Callable[[Mapping[str, FarRows]], Collection[str]]
"""Takes far rows by column; returns the columns in which they are to be learned."""

ENOUGH = 8
"""From this many sampled rows on, a label is checked for being mostly far out."""

MOST_OUTLYING = 0.1
"""Log-normal rows of sigma 2 have 5% more than 20 robust standard deviations from their centre."""

TELLING, NEAR_MOST, MOST_ACCUSED = 0.01, 0.15, 0.25
"""Shares of accused rows: one is reported; near one that is too large; that of the rows by which a pilot
measures no distance, so that more may be the majority."""

MOST_LOSSES = 1_024
"""Losses of rows, or of pairs, by which the loss of a training is judged."""

TARGET = "y"

AS_LOSSES = {Status.SHARE_SCREENED_OUT: Status.SHARE_FAR_OUT}
"""Far losses are in the reported loss, whatever the mean does with them."""


def survey_of(
    data: Scan,
    columns: Sequence[str],
    seed: int,
    executor: Executor,
    progress: Progress | None,
    real: Real | None,
) -> Survey:
    """What is bad in these columns; a label or a cluster that lies far out is reported and kept."""
    surveyor = Surveyor(seed, executor, progress, real=real)
    seen = surveyor.survey(data, columns)
    concerns = tuple(flag for flag in seen.passed_on if flag is Status.CONTAMINATED)
    return replace(seen, passed_on=concerns, correlated=())  # a model has no interval


def labels_stay(columns: Sequence[str], sample: Sample) -> Real:
    """Far rows are real if they are most rows of some label of the sample."""
    return lambda cuts: far_labels(columns, cuts, *sample())


def far_labels(
    columns: Sequence[str], cuts: Mapping[str, FarRows], features: Floats, labels: Floats
) -> list[str]:
    """Columns whose far rows are most rows of some label: a property of that label.

    Examples
    --------
    >>> far = FarRows("screened out", 9, 0.1, (0.1, 0.1), 90, -np.inf, 50.0, (), None)
    >>> x, label = np.repeat([[0.0], [99.0]], [81, 9], axis=0), np.repeat([0.0, 1.0], [81, 9])
    >>> far_labels(["x"], {"x": far}, x, label), far_labels(["x"], {"x": far}, x, label[::-1])
    (['x'], [])
    """
    _, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    found = []
    for name, cut in cuts.items():
        values = features[:, columns.index(name)]
        far = np.bincount(codes, (values <= cut.low) | (values >= cut.high), counts.size)
        if ((2 * far > counts) & (counts >= ENOUGH)).any():
            found.append(name)
    return found


def columns_of(rows: ArrayRows, names: Sequence[str] | None, *, targets: bool) -> dict[str, pa.Array]:
    """The columns of rows in memory, and numeric targets, by their names or x0, x1, …, y."""
    names = [f"x{j}" for j in range(rows.n_features)] if names is None else names
    columns = {str(name): pa.array(rows.features[:, j]) for j, name in enumerate(names)}
    if targets and rows.targets.any():
        columns[TARGET if TARGET not in columns else f"the target {TARGET}"] = pa.array(rows.targets)
    return columns


def survey_of_arrays(
    rows: ArrayRows, columns: dict[str, pa.Array], seed: int, real: Real | None
) -> tuple[Survey, ArrayRows]:
    """The same for rows in memory, and the rows without those that were screened out."""
    with as_backend(None).here().open() as executor:
        data = scan(pa.table(columns))
        seen = survey_of(data, list(columns), seed, executor, None, real)
    if seen.scan is data:
        return seen, rows
    kept = seen.scan.where.mask(columns, rows.n_rows)
    fates = np.where(kept, USED, ABSENT).astype(np.uint8)
    return seen, ArrayRows(rows.features, rows.targets, fates)


def far_from_the_middle(share: float) -> tuple[list[Status], list[str]]:
    """The remark if many values of a column lie more than 20 robust standard deviations from the centre.

    The mean cannot see this: a second group so wide that no gap separates it from the others.
    """
    if share <= MOST_OUTLYING:
        return [], []
    rows = (
        f"{share:.1%} of the values of a column lie more than 20 robust standard deviations from the centre"
    )
    return [Status.SHARE_FAR_OUT], [f"{rows}, and are in the model; check their unit"]


def screened_out(share: float, too_many: float) -> tuple[list[Status], list[str]]:
    """The remark on sampled rows that were accused, or are too many to be."""
    flags, notes = [Status.SHARE_SCREENED_OUT] * (share >= TELLING), list[str]()
    if share:
        rows = f"{share:.2%} of the rows are far out and do not fit, so blocks with any of them were skipped"
        near = f"; above {MOST_ACCUSED:.0%} they would not be" if share > NEAR_MOST else ""
        notes = [f"{rows}{near}"]
    if too_many:
        rows = f"{too_many:.1%} of the sampled rows are far out and do not fit the model of the others"
        flags.append(Status.SHARE_FAR_OUT)
        notes.append(f"{rows}, but are too many to be left out; they are in the model")
    return flags, notes


def loss_flags(risk: BlockRisk, x: Floats, rows: Floats, targets: Floats, seed: int) -> tuple[Status, ...]:
    """What the mean reports of the losses of single rows, or of pairs of rows that share none."""
    size = risk.least_rows
    n = min(len(targets) // size, MOST_LOSSES) if size else 0
    if not n:
        return ()
    place = slice(n * size)
    losses = risk.losses(x, rows[place].reshape(n, size, -1), targets[place].reshape(n, size))
    try:
        with quietly():
            found: Any = mean(scan(losses, nan="keep"), interval="none", rng=seed, executor=Threads(1))
    except NoAnswerError:
        return (Status.NO_FINITE_ANSWER,)
    return tuple(AS_LOSSES.get(flag, flag) for flag in found.flags)


def warn(model: Any) -> None:
    """Warn of a status that is not fine, as every call does; not if steps merely ran out."""
    status = Status(model.status_)
    if not status.fine and status is not Status.ALL_STEPS_TAKEN and warns():
        words = "; ".join(dict.fromkeys((model.status_, *model.flags_)))
        text = f"{type(model).__name__}: {words}; look at its advice_, flags_ and notes_"
        warnings.warn(text, DoubtfulResultWarning, stacklevel=4)
