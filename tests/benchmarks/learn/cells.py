"""One data set with one damage: our figure, the plain one, and those of peers."""

import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tests.benchmarks.learn.damages import DAMAGES, SHARES, damaged, file_of
from tests.benchmarks.learn.data_sets import Data, DataSet
from tests.benchmarks.learn.judgement import Lost, lost
from tests.benchmarks.learn.learners import LEARNERS, Make
from tests.benchmarks.learn.scores import score_of

LARGE, ENOUGH = 5_000, 3
"""Training rows from which on so many seeds are enough."""

FEW, TIMES = 100, 4
"""Of fewer rows to test on the mean over so many times the seeds is told: one row is a hundredth."""

OURS, PLAIN = "ours", "plain"

FAILURES = (ValueError, RuntimeError, np.linalg.LinAlgError, FloatingPointError)


class Cell(NamedTuple):
    """Scores of each learner, seed by seed; one that fails has the score minus infinity."""

    data: DataSet
    damage: str
    scores: dict[str, tuple[float, ...]]
    status: str
    seconds: float
    plain_seconds: float

    def mean(self, who: str) -> float:
        """Of the scores of a learner."""
        return float(np.mean(self.scores[who]))

    @property
    def peers(self) -> tuple[str, ...]:
        """All but ours and the plain one."""
        return tuple(who for who in self.scores if who not in (OURS, PLAIN))

    def best(self, of: Sequence[str]) -> str:
        """The one with the largest mean."""
        return max(of, key=self.mean)

    def lost_to(self, who: str) -> Lost:
        """What ours loses to another learner."""
        return lost(self.scores[OURS], self.scores[who])


class Fitted(NamedTuple):
    """A score, the seconds of the fit, and how it ended."""

    score: float
    seconds: float
    status: str


def whole(name: str) -> Any:
    """Makes of a data set's task."""
    return LEARNERS[name]()


def fitted(make: Make, one: DataSet, train: Data, test: Data, seed: int, files: bool) -> Fitted | None:
    """Fit and score; with `files` our learner reads the rows from Parquet files."""
    n, d = train[0].shape
    model = make(seed, n, d, np.unique(test[1]).size if one.task != "regression" else 0)
    if model is None:
        return None
    began = time.perf_counter()
    try:
        if files:
            with tempfile.TemporaryDirectory() as folder:
                fit_files(model, train, Path(folder), one.task != "clusters")
        else:
            model.fit(*train)
        seconds = time.perf_counter() - began
        score = score_of(one)(model, train, test)
    except FAILURES as error:
        return Fitted(-np.inf, time.perf_counter() - began, f"{type(error).__name__}: {error}"[:60])
    flags = getattr(model, "flags_", [])
    said = ", ".join([getattr(model, "status_", ""), *flags])
    return Fitted(score if np.isfinite(score) else -np.inf, seconds, said)


def fit_files(model: Any, train: Data, folder: Path, labelled: bool) -> None:
    """Fit to the files of a lake."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [f"x{j}" for j in range(train[0].shape[1])]
    files = file_of(len(train[0]))
    for number in range(files[-1] + 1):
        rows = files == number
        columns = dict(zip(names, train[0][rows].T, strict=True))
        pq.write_table(pa.table({**columns, "y": train[1][rows]}), folder / f"part-{number:03}.parquet")
    model.fit(str(folder), "y" if labelled else None, columns=names)


def cell(one: DataSet, name: str, share: float, n_seeds: int, rivals: bool = False) -> Cell | None:
    """Scores of all peers or of `rivals` alone; None where so small a share is no row or file."""
    learners = whole(one.task)
    peers = {who: make for who, make in learners.peers.items() if not rivals or who in learners.rivals}
    every: dict[str, Make] = {OURS: learners.ours, PLAIN: learners.plain, **peers}
    found: dict[str, list[Fitted]] = {}
    few = len(one.parts(0).test[0]) < FEW
    for seed in range(TIMES * n_seeds if few else n_seeds):
        parts = one.parts(seed)
        if seed >= ENOUGH and len(parts.train[0]) >= LARGE:
            break
        labels = one.task != "regression"
        train = damaged(parts.train, name, share, seed, labels) if share else parts.train
        if train is None:
            return None
        for who, make in every.items():
            if one.task == "clusters" and name == "label noise":
                return None
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fit = fitted(make, one, train, parts.test, seed, who == OURS and name == "files")
            if fit is not None:
                found.setdefault(who, []).append(fit)
    said = Counter(fit.status for fit in found[OURS])
    return Cell(
        one,
        f"{name} {share:.0%}" if share else "clean",
        {who: tuple(fit.score for fit in fits) for who, fits in found.items()},
        "; ".join(text if len(said) == 1 else f"{text} ({n})" for text, n in said.most_common(2)),
        *(float(np.median([fit.seconds for fit in found[who]])) for who in (OURS, PLAIN)),
    )


def damages() -> list[tuple[str, float]]:
    """Clean, and each damage with each share."""
    return [("clean", 0.0), *((name, share) for name in DAMAGES for share in SHARES)]
