"""The two tables of docs/performance/learners.md: means over splits of small data, clean and displaced."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tests.benchmarks.learn.metric_peers import metric_learn

SHARE = 0.05
"""Rows that are displaced by a normal vector of 20 times the standard deviation of each feature."""

Data = tuple[np.ndarray, np.ndarray]

One = Callable[[int, Data, Data], float]
"""A figure from a seed, rows to train on and rows to test on."""


def damaged(X: np.ndarray, seed: int, share: float) -> np.ndarray:
    """Training rows, some of them displaced."""
    g = np.random.default_rng(seed)
    X = X.copy()
    bad = g.choice(len(X), round(share * len(X)), replace=False)
    X[bad] += g.normal(0.0, 20.0, (bad.size, X.shape[1])) * (X.std(axis=0) + 1e-9)
    return X


def split(X: np.ndarray, y: np.ndarray, seed: int, share: float, labels: bool) -> tuple[Data, Data]:
    """Damaged rows to train on, clean ones to test on."""
    from sklearn.model_selection import train_test_split

    parts = train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y if labels else None)
    return (damaged(parts[0], seed, share), parts[2]), (parts[1], parts[3])


def nearest(transform: Callable[..., Any], train: Data, test: Data) -> float:
    """Accuracy of five neighbours in a learned space."""
    from sklearn.neighbors import KNeighborsClassifier

    return float(
        KNeighborsClassifier(5).fit(transform(train[0]), train[1]).score(transform(test[0]), test[1])
    )


def metrics(seed: int) -> dict[str, Callable[[Data], Callable[..., Any]]]:
    """Ways to learn a metric: the training rows in, a map of rows out."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    import distmom as dm

    ml = metric_learn()

    def ours(**options: Any) -> Callable[[Data], Callable[..., Any]]:
        return lambda d: dm.MahalanobisMetric(random_state=seed, **options).fit(*d).transform

    def theirs(learner: Any) -> Callable[[Data], Callable[..., Any]]:
        return lambda d: make_pipeline(StandardScaler(), learner).fit(*d).transform

    return {
        "MahalanobisMetric": ours(),
        "the same, plain mini-batch": ours(aggregator="plain", clip=np.inf),
        "no metric, scaled": lambda d: StandardScaler().fit(d[0]).transform,
        "metric-learn NCA": theirs(ml.NCA(max_iter=100, random_state=seed)),
        "metric-learn LMNN": theirs(ml.LMNN(max_iter=100, random_state=seed)),
        "metric-learn ITML": theirs(ml.ITML_Supervised(random_state=seed, max_iter=100)),
        "metric-learn RCA": theirs(ml.RCA_Supervised(n_chunks=40, random_state=seed)),
    }


def tables(n_seeds: int) -> None:
    """The table of docs: mean over seeds on clean test rows, trained on clean and on damaged rows."""
    from sklearn import datasets

    sets = {
        "iris": datasets.load_iris,
        "wine": datasets.load_wine,
        "breast cancer": datasets.load_breast_cancer,
        "digits": datasets.load_digits,
    }
    print(
        f"| five neighbours, accuracy (clean / {SHARE:.0%} of the rows displaced) | "
        + " | ".join(sets)
        + " |"
    )
    print("|---" * (len(sets) + 1) + "|")
    for name in metrics(0):
        cells = []
        for load in sets.values():
            X, y = load(return_X_y=True)
            cells.append(
                compared(lambda s, d, t, name=name: nearest(metrics(s)[name](d), d, t), X, y, n_seeds, True)
            )
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    linear(n_seeds)


def compared(one: One, X: np.ndarray, y: np.ndarray, n_seeds: int, labels: bool) -> str:
    """Means over seeds: clean / damaged; what fails is told."""
    shown = []
    for share in (0.0, SHARE):
        found = []
        for seed in range(n_seeds):
            train, test = split(X, y, seed, share, labels)
            try:
                found.append(one(seed, train, test))
            except (ValueError, RuntimeError, np.linalg.LinAlgError):
                continue
        missing = n_seeds - len(found)
        text = f"{np.mean(found):.3f}" if found else "–"
        shown.append(text + (f" ({missing} failed)" if missing else ""))
    return " / ".join(shown)


def auc(model: Callable[[int], Any], score: str) -> One:
    """How well scores rank the classes of the test rows."""
    from sklearn.metrics import roc_auc_score

    return lambda s, d, t: float(roc_auc_score(t[1], getattr(model(s).fit(*d), score)(t[0])))


def error(model: Callable[[int], Any]) -> One:
    """Median absolute error on the test rows."""
    return lambda s, d, t: float(np.median(np.abs(model(s).fit(*d).predict(t[0]) - t[1])))


def hits(model: Callable[[int], Any]) -> One:
    """Accuracy on the test rows."""
    return lambda s, d, t: float(model(s).fit(*d).score(*t))


class Linear(NamedTuple):
    """A linear learner on a data set."""

    what: str
    learner: str
    one: One
    data: Data
    labels: bool


def linear_cases() -> list[Linear]:
    """Ranking, classification and regression, each by our learner and by scikit-learn's."""
    from sklearn import datasets
    from sklearn.linear_model import HuberRegressor, LinearRegression, LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    import distmom as dm

    logistic = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    huber = make_pipeline(StandardScaler(), HuberRegressor(max_iter=1000))
    ranking = [
        ("PairwiseRanker", auc(lambda s: dm.PairwiseRanker(random_state=s), "predict")),
        ("LogisticRegression", auc(lambda s: logistic, "decision_function")),
    ]
    classes = [
        ("RobustLogisticRegression", hits(lambda s: dm.RobustLogisticRegression(random_state=s))),
        ("LogisticRegression", hits(lambda s: logistic)),
    ]
    regression = [
        ("RobustLinearRegression", error(lambda s: dm.RobustLinearRegression(random_state=s))),
        ("LinearRegression", error(lambda s: LinearRegression())),
        ("HuberRegressor", error(lambda s: huber)),
    ]
    cancer, digits, diabetes = (
        load(return_X_y=True)
        for load in (datasets.load_breast_cancer, datasets.load_digits, datasets.load_diabetes)
    )
    return [
        *(Linear("AUC, breast cancer", *named, cancer, True) for named in ranking),
        *(Linear("accuracy, digits", *named, digits, True) for named in classes),
        *(Linear("median error, diabetes", *named, diabetes, False) for named in regression),
    ]


def linear(n_seeds: int) -> None:
    """The second table of docs."""
    print("\n| what | learner | clean / displaced |\n|---|---|---|")
    for case in linear_cases():
        shown = compared(case.one, *case.data, n_seeds, case.labels)
        print(f"| {case.what} | {case.learner} | {shown} |", flush=True)
