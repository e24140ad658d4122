"""Rankings beside logistic regression without intercept on differences of pairs of rows."""

import numpy as np
from sklearn.linear_model import LogisticRegression

import distmom as dm
from distmom.estimators.learn.ranker import share_in_order
from tests.benchmarks.learn.damages import damaged
from tests.benchmarks.learn.data_sets import Data, DataSet

MOST_PAIRS, MOST_ROWS, MOST_TESTED, STEPS = 200_000, 2_500, 3_000, 50
CELLS = ("clean", "near leverage", "label noise")
SHARES = {"clean": 0.0, "near leverage": 0.05, "label noise": 0.1}


def plain(X: np.ndarray, y: np.ndarray, seed: int) -> np.ndarray:
    """Coefficients of standardised features, by scikit-learn with its own penalty."""
    spread = np.where(X.std(axis=0) > 0.0, X.std(axis=0), 1.0)
    n, g = len(y), np.random.default_rng([seed, 7])
    every = n * (n - 1) // 2 <= MOST_PAIRS
    i, j = np.triu_indices(n, 1) if every else g.integers(n, size=(2, MOST_PAIRS))
    i, j = i[y[i] != y[j]], j[y[i] != y[j]]
    turned = g.random(len(i)) < 0.5
    i, j = np.where(turned, j, i), np.where(turned, i, j)
    found = LogisticRegression(fit_intercept=False, max_iter=500).fit((X[i] - X[j]) / spread, y[i] > y[j])
    return np.asarray(found.coef_[0] / spread)


def shares(one: DataSet, cell: str, seed: int) -> tuple[float, float] | None:
    """Shares of test pairs in order, of our learner and of the plain one; None for several classes."""
    (X, y), (T, t) = one.parts(seed)
    labels = one.task == "classes"
    if labels and np.unique(y).size > 2:
        return None
    train: Data | None = (np.asarray(X, float)[:MOST_ROWS], y[:MOST_ROWS])
    if cell != "clean":
        assert train is not None
        train = damaged(train, cell, SHARES[cell], seed, labels)
    if train is None:
        return None
    X, y = train[0], np.asarray(train[1], float)
    T, t = np.asarray(T[:MOST_TESTED], float), np.asarray(t[:MOST_TESTED], float)
    ours = dm.PairwiseRanker(random_state=seed, max_iter=STEPS).fit(X, y).score(T, t)
    return ours, share_in_order(t, T @ plain(X, y, seed))


def rankings(sets: list[DataSet], n_seeds: int) -> None:
    """A line for each data set: means of ours and of the plain one, and the error of their difference."""
    print("| rows | " + " | ".join(CELLS) + " |\n" + "|---" * (len(CELLS) + 1) + "|")
    for one in sets:
        if one.task not in ("regression", "classes"):
            continue
        texts = []
        for cell in CELLS:
            found = [
                pair for pair in (shares(one, cell, seed) for seed in range(n_seeds)) if pair is not None
            ]
            if found:
                ours, beside = np.array(found).T
                error = (ours - beside).std(ddof=1) / np.sqrt(len(found)) if len(found) > 1 else np.nan
                texts.append(f"{ours.mean():.3f} for {beside.mean():.3f} ± {error:.3f}")
        if texts:
            print(f"| {one.name} | " + " | ".join(texts) + " |", flush=True)
