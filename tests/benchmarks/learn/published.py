"""Robust learners as published, whose packages do not run beside present ones.

`CoordinateDescent` is the method of linlearn 0.1 (which needs a scikit-learn without `log_logistic`),
`MedianBlock` and `MedianBlockMeans` are those of scikit-learn-extra 0.3 (built for NumPy 1). Features should
be scaled.

References
----------
Gaïffas & Merad (2022), Robust supervised learning with coordinate gradient descent. MoM or trimmed means of
partial derivatives, steps by a robust estimate of the features' second moments.
Lecué, Lerasle & Mathieu (2020), Robust classification via MOM minimization. Gradient steps on the median
block of a new partition each.
Brunet-Saumard, Genetay & Saumard (2022), K-bMOM. Lloyd's steps on the median block.
Cuesta-Albertos, Gordaliza & Matrán (1997), Trimmed k-means.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator

SHARE_OF_A_BLOCK = 0.07
"""Of the rows: what linlearn takes."""

ROWS_OF_A_BLOCK = 20


def slope_of(labels: bool) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Derivative of the loss: of a logistic one for labels in {0, 1}, else of half a square."""
    return (lambda z, y: expit(z) - y) if labels else (lambda z, y: z - y)


def with_one(X: np.ndarray) -> np.ndarray:
    """The rows and a column of ones."""
    return np.concatenate([X, np.ones((len(X), 1))], axis=1)


class Linear(BaseEstimator):
    """A linear model of targets or labels, one against the others where there are more than two."""

    def __init__(self, labels: bool, seed: int) -> None:
        self.labels, self.seed = labels, seed

    def weights(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """What is found for targets, or labels 0 and 1."""
        raise NotImplementedError

    def fit(self, X: np.ndarray, y: np.ndarray) -> "Linear":
        """Learn."""
        rows = with_one(X)
        if not self.labels:
            middle, spread = float(np.median(y)), float(np.subtract(*np.percentile(y, [75, 25]))) or 1.0
            self.w = self.weights(rows, (y - middle) / spread)[:, None] * spread
            self.w[-1] += middle
            return self
        self.classes_ = np.unique(y)
        known = self.classes_[1:] if self.classes_.size == 2 else self.classes_
        self.w = np.stack([self.weights(rows, (y == c).astype(float)) for c in known], axis=1)
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Chances of the classes."""
        p = expit(with_one(X) @ self.w)
        p = np.concatenate([1.0 - p, p], axis=1) if p.shape[1] == 1 else p
        return p / np.maximum(p.sum(axis=1, keepdims=True), 1e-300)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Targets, or the likeliest classes."""
        if self.labels:
            return self.classes_[self.predict_proba(X).argmax(axis=1)]
        return (with_one(X) @ self.w)[:, 0]


class CoordinateDescent(Linear):
    """Each coordinate in turn, along a robust mean of the partial derivatives of rows."""

    def __init__(self, labels: bool, seed: int, trim: float | None = None, epochs: int = 100) -> None:
        super().__init__(labels, seed)
        self.trim, self.epochs = trim, epochs

    def mean(self, values: np.ndarray, g: np.random.Generator) -> float:
        """Median of the means of blocks, or a mean without a share of the values at either end."""
        if self.trim is None:
            order = g.permutation(values.size)
            size = max(1, int(SHARE_OF_A_BLOCK * values.size))
            blocks = values[order[: values.size // size * size]].reshape(-1, size)
            return float(np.median(blocks.mean(axis=1)))
        low = int(self.trim * values.size)
        parted = np.partition(values, [low, values.size - low - 1]) if low else values
        return float(parted[low : values.size - low].mean())

    def weights(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Epochs until none changes a weight by a thousandth."""
        g = np.random.default_rng(self.seed)
        slope, curvature = slope_of(self.labels), 0.25 if self.labels else 1.0
        with np.errstate(over="ignore", invalid="ignore"):
            step = np.array([1.0 / max(curvature * self.mean(x * x, g), 1e-12) for x in X.T])
            w, z = np.zeros(X.shape[1]), np.zeros(len(X))
            for _ in range(self.epochs):
                before = w.copy()
                for j in g.permutation(w.size):
                    change = -step[j] * self.mean(slope(z, y) * X[:, j], g)
                    w[j] += change
                    z += change * X[:, j]
                if np.abs(w - before).max() < 1e-3 * max(1e-3, np.abs(w).max()):
                    break
        return w


class MedianBlock(Linear):
    """Gradient steps on the block of rows whose loss is the median one."""

    def weights(self, X: np.ndarray, y: np.ndarray, steps: int = 1_000) -> np.ndarray:
        """Steps that fall as 1/sqrt(t); the mean of the last half."""
        g, n = np.random.default_rng(self.seed), len(X)
        size = min(ROWS_OF_A_BLOCK, n)
        k = n // size - (n // size + 1) % 2 or 1
        w, kept = np.zeros(X.shape[1]), []
        slope = slope_of(self.labels)
        with np.errstate(over="ignore", invalid="ignore"):
            for t in range(steps):
                blocks = g.permutation(n)[: min(k, 101) * size].reshape(-1, size)
                z, target = X[blocks] @ w, y[blocks]
                loss = np.logaddexp(0.0, np.where(target > 0.5, -z, z)) if self.labels else (z - target) ** 2
                block = blocks[int(np.argsort(loss.mean(axis=1))[len(blocks) // 2])]
                length = (X[block] ** 2).sum(axis=1).mean()
                gradient = slope(X[block] @ w, y[block]) @ X[block] / size
                w = w - gradient / max(length, 1.0) / np.sqrt(1.0 + t / 20.0)
                kept.append(w)
        return np.mean(kept[steps // 2 :], axis=0)


class Centres(BaseEstimator):
    """Lloyd's steps on some of the rows, the best of several starts."""

    def __init__(self, k: int, seed: int, trim: float | None, starts: int = 10) -> None:
        self.k, self.seed, self.trim, self.starts = k, seed, trim, starts

    def squares(self, X: np.ndarray) -> np.ndarray:
        """To the nearest centre."""
        return self.distances(X, self.cluster_centers_).min(axis=1)

    @staticmethod
    def distances(X: np.ndarray, centres: np.ndarray) -> np.ndarray:
        """Squared ones to all centres."""
        return ((X[:, None, :] - centres) ** 2).sum(axis=2)

    def kept(self, squares: np.ndarray, g: np.random.Generator) -> np.ndarray:
        """Numbers of the rows of a step: all but the farthest, or the median block of a new partition."""
        if self.trim is not None:
            return np.argsort(squares)[: round((1.0 - self.trim) * squares.size)]
        size = max(10 * self.k, squares.size // 51)
        blocks = g.permutation(squares.size)[: squares.size // size * size].reshape(-1, size)
        return blocks[int(np.argsort(squares[blocks].mean(axis=1))[len(blocks) // 2])]

    def fit(self, X: np.ndarray, y: Any = None) -> "Centres":
        """Learn."""
        from sklearn.cluster import kmeans_plusplus

        g, best = np.random.default_rng(self.seed), np.inf
        for _ in range(self.starts):
            few = X[g.permutation(len(X))[: max(50, 10 * self.k)]]
            centres = kmeans_plusplus(few, self.k, random_state=int(g.integers(2**31)))[0]
            for _ in range(50):
                away = self.distances(X, centres)
                rows = self.kept(away.min(axis=1), g)
                near = away[rows].argmin(axis=1)
                for c in np.unique(near):
                    centres[c] = X[rows[near == c]].mean(axis=0)
            squares = self.distances(X, centres).min(axis=1)
            loss = float(squares[self.kept(squares, g)].mean())
            if loss < best:
                best, self.cluster_centers_ = loss, centres
        return self
