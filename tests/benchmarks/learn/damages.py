"""What is done to a share of the training rows."""

from collections.abc import Callable

import numpy as np

from tests.benchmarks.learn.data_sets import Data

SHARES = (0.01, 0.05, 0.10)
MOST_FILES, LEAST_ROWS = 100, 5

Damage = Callable[[np.ndarray, np.ndarray, np.ndarray, np.random.Generator, bool], None]
"""Of rows, targets (both changed in place), the numbers of the bad rows, and whether targets are labels."""


def file_of(n: int) -> np.ndarray:
    """The file of each row: at most 100 of them, of at least five rows."""
    files = max(1, min(MOST_FILES, n // LEAST_ROWS))
    return np.arange(n) * files // n


def leverage(times: float) -> Damage:
    """Features displaced by so many standard deviations, normally."""

    def damage(X: np.ndarray, y: np.ndarray, bad: np.ndarray, g: np.random.Generator, labels: bool) -> None:
        X[bad] += g.normal(0.0, times, (bad.size, X.shape[1])) * (X.std(axis=0) + 1e-9)

    return damage


def label_noise(X: np.ndarray, y: np.ndarray, bad: np.ndarray, g: np.random.Generator, labels: bool) -> None:
    """Another label; a target too large by some ten standard deviations."""
    if labels:
        known = np.unique(y)
        other = np.searchsorted(known, y[bad]) + g.integers(1, known.size, bad.size)
        y[bad] = known[other % known.size]
    else:
        y[bad] += 10.0 * y.std() * np.abs(g.normal(size=bad.size))


def other_unit(X: np.ndarray, y: np.ndarray, bad: np.ndarray, g: np.random.Generator, labels: bool) -> None:
    """Features in thousandths, targets in sixtieths of their unit."""
    X[bad] *= 1_000.0
    if not labels:
        y[bad] *= 60.0


DAMAGES: dict[str, Damage] = {
    "far leverage": leverage(1_000.0),
    "near leverage": leverage(20.0),
    "label noise": label_noise,
    "files": other_unit,
}


def damaged(train: Data, name: str, share: float, seed: int, labels: bool) -> Data | None:
    """Training rows, a share of them bad; None where so few rows or files are less than one half."""
    X, y = np.array(train[0], float), train[1].copy()
    g = np.random.default_rng([seed, round(1000 * share)])
    if name == "files":
        files = file_of(len(X))
        count = round(share * (files[-1] + 1))
        bad = np.flatnonzero(np.isin(files, g.choice(files[-1] + 1, count, replace=False)))
    else:
        bad = g.choice(len(X), round(share * len(X)), replace=False)
    if not bad.size:
        return None
    DAMAGES[name](X, y, bad, g, labels)
    return X, y
