"""What is bad in the columns that a learner reads, found before the descent; and what its loss is worth."""

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
"""Takes rows far out by column; tells the columns where they are what is to be learned."""

ENOUGH = 8
"""Sampled rows of a label from which on it is asked whether most of them lie far out."""

MOST_OUTLYING = 0.1
"""Log-normal rows of sigma 2 have 5% more than 20 robust standard deviations from their centre."""

TELLING, NEAR_MOST, MOST_ACCUSED = 0.01, 0.15, 0.25
"""Shares of accused rows: a flag tells of one; is near one that is too large; is that of the rows that a
pilot does not measure distances by, so that more may be the majority."""

MOST_LOSSES = 1_024
"""Losses of rows, or of pairs, by which the loss of a training is judged."""

TARGET = "y"

AS_LOSSES = {Status.SHARE_SCREENED_OUT: Status.SHARE_FAR_OUT}
"""Losses far out are in the loss that is shown, whatever the mean does."""


def survey_of(
    data: Scan,
    columns: Sequence[str],
    seed: int,
    executor: Executor,
    progress: Progress | None,
    real: Real | None,
) -> Survey:
    """What is bad in these columns; of a label, or a cluster, that lies far out it is told, and it stays."""
    surveyor = Surveyor(seed, executor, progress, real=real)
    seen = surveyor.survey(data, columns)
    concerns = tuple(flag for flag in seen.passed_on if flag is Status.CONTAMINATED)
    return replace(seen, passed_on=concerns, correlated=())  # a model has no interval


def labels_stay(columns: Sequence[str], sample: Sample) -> Real:
    """Rows far out are real where they are most rows of some label of the sample."""
    return lambda cuts: far_labels(columns, cuts, *sample())


def far_labels(
    columns: Sequence[str], cuts: Mapping[str, FarRows], features: Floats, labels: Floats
) -> list[str]:
    """Columns whose rows far out are most of the rows of some label: what tells it from the others.

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
    """The columns of rows in memory, and targets that are numbers, by their names or x0, x1, …, y."""
    names = [f"x{j}" for j in range(rows.n_features)] if names is None else names
    columns = {str(name): pa.array(rows.features[:, j]) for j, name in enumerate(names)}
    if targets and rows.targets.any():
        columns[TARGET if TARGET not in columns else f"the target {TARGET}"] = pa.array(rows.targets)
    return columns


def survey_of_arrays(
    rows: ArrayRows, columns: dict[str, pa.Array], seed: int, real: Real | None
) -> tuple[Survey, ArrayRows]:
    """The same for rows in memory, and the rows, of which those that were screened out do not count."""
    with as_backend(None).here().open() as executor:
        data = scan(pa.table(columns))
        seen = survey_of(data, list(columns), seed, executor, None, real)
    if seen.scan is data:
        return seen, rows
    kept = seen.scan.where.mask(columns, rows.n_rows)
    fates = np.where(kept, USED, ABSENT).astype(np.uint8)
    return seen, ArrayRows(rows.features, rows.targets, fates)


def far_from_the_middle(share: float) -> tuple[list[Status], list[str]]:
    """What is told where many values of a column lie more than 20 robust standard deviations from the centre.

    That the mean cannot see: a second group so wide that no gap parts it from the others.
    """
    if share <= MOST_OUTLYING:
        return [], []
    rows = (
        f"{share:.1%} of the values of a column lie more than 20 robust standard deviations from the centre"
    )
    return [Status.SHARE_FAR_OUT], [f"{rows}, and are in the model; check their unit"]


def screened_out(share: float, too_many: float) -> tuple[list[Status], list[str]]:
    """What is told of rows of the sample that were accused, or would have been were they not too many."""
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
    """What the mean says of the losses of single rows, or of pairs of rows that share none."""
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
    """Warn of a status that is not fine, as every call does; not of steps that nothing but their end ends."""
    status = Status(model.status_)
    if not status.fine and status is not Status.ALL_STEPS_TAKEN and warns():
        words = "; ".join(dict.fromkeys((model.status_, *model.flags_)))
        text = f"{type(model).__name__}: {words}; look at its advice_, flags_ and notes_"
        warnings.warn(text, DoubtfulResultWarning, stacklevel=4)
