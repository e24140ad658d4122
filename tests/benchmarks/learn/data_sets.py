"""What a data set is, and all of them by name."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

Data = tuple[np.ndarray, np.ndarray]


class Parts(NamedTuple):
    """Rows to train on, and rows to test on, which are never damaged."""

    train: Data
    test: Data


class DataSet(NamedTuple):
    """Where rows come from, what is learned from them, and how it is scored on the test part.

    `task` is regression (score: R2), classes (accuracy; with `rare` ones the explained share of the log loss
    of the shares of the classes), metric (accuracy of five neighbours) or clusters (explained share of the
    squares).
    """

    name: str
    task: str
    parts: Callable[[int], Parts]
    rare: bool = False


def halved(X: np.ndarray, y: np.ndarray, seed: int, labels: bool) -> Parts:
    """Seven tenths to train on."""
    from sklearn.model_selection import train_test_split

    found = train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y if labels else None)
    return Parts((found[0], found[2]), (found[1], found[3]))


def data_sets(words: list[str] | None = None, quick: bool = False) -> list[DataSet]:
    """All data sets, or those whose name or task holds one of the words."""
    from tests.benchmarks.learn.made_rows import made
    from tests.benchmarks.learn.real_rows import real

    found = [*real(), *made()]
    if quick:
        found = [one for one in found if one.name in QUICK]
    if words:
        found = [one for one in found if any(word in f"{one.name} {one.task}" for word in words)]
    return found


QUICK = ("diabetes", "polynomial 1–5", "breast cancer", "2.3% ones", "iris, metric", "three blobs")
