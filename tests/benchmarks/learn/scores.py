"""How good a fitted learner is on clean rows: 1 is best in every task."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.benchmarks.learn.data_sets import Data, DataSet


def r2(model: Any, train: Data, test: Data) -> float:
    """Explained share of the variance of the targets."""
    away = np.asarray(model.predict(test[0])).ravel() - test[1]
    return 1.0 - float((away**2).mean() / test[1].var())


def accuracy(model: Any, train: Data, test: Data) -> float:
    """Share of labels that are found."""
    return float((model.predict(test[0]) == test[1]).mean())


def log_loss_explained(model: Any, train: Data, test: Data) -> float:
    """What a model takes from the log loss of one that knows nothing but the shares of the classes."""
    known, codes = np.unique(test[1], return_inverse=True)
    places = np.searchsorted(model.classes_, known)
    shares = np.bincount(codes) / codes.size
    p = np.clip(model.predict_proba(test[0])[:, places], 1e-15, 1.0)
    return 1.0 + float(np.log(p[np.arange(codes.size), codes]).mean() / -(shares * np.log(shares)).sum())


def neighbours(model: Any, train: Data, test: Data) -> float:
    """Accuracy of five neighbours among the training rows."""
    from sklearn.neighbors import KNeighborsClassifier

    learned = KNeighborsClassifier(5).fit(model.transform(train[0]), train[1])
    return float(learned.score(model.transform(test[0]), test[1]))


def squares_explained(model: Any, train: Data, test: Data) -> float:
    """Of the squared distances of rows to their mean, what those to the nearest centres leave."""
    left = ((test[0][:, None, :] - model.cluster_centers_) ** 2).sum(axis=2).min(axis=1).mean()
    return 1.0 - float(left / test[0].var(axis=0).sum())


def score_of(one: DataSet) -> Callable[[Any, Data, Data], float]:
    """The score of a data set."""
    if one.task == "classes":
        return log_loss_explained if one.rare else accuracy
    return {"regression": r2, "metric": neighbours, "clusters": squares_explained}[one.task]
