"""Generated data. Regressions are tested against the mean without noise, so 1 is what the truth scores."""

from collections.abc import Callable

import numpy as np

from tests.benchmarks.learn.data_sets import DataSet, Parts

Draw = Callable[[np.random.Generator, int], np.ndarray]


def regression(features: Draw, w: Draw, n: int, noise: Draw | None = None) -> Callable[[int], Parts]:
    """Linear in the features, with standard normal noise unless another is given."""

    def parts(seed: int) -> Parts:
        g = np.random.default_rng([seed, n])
        X, T = features(g, n), features(g, min(n, 5_000))
        slopes = w(g, X.shape[1])
        e = g.normal(size=n) if noise is None else noise(g, n)
        return Parts((X, X @ slopes + e), (T, T @ slopes))

    return parts


def classes(features: Draw, w: Draw, n: int, shift: float = 0.0) -> Callable[[int], Parts]:
    """Logistic in the features."""

    def parts(seed: int) -> Parts:
        g = np.random.default_rng([seed, n])
        slopes = None
        found = []
        for size in (n, n):
            X = features(g, size)
            slopes = w(g, X.shape[1]) if slopes is None else slopes
            y = (X @ slopes + shift + g.logistic(size=size) > 0.0).astype(int)
            found.append((X, y))
        return Parts(*found)

    return parts


def blobs(
    sizes: list[int], centres: list[tuple[float, float]], tails: bool = False
) -> Callable[[int], Parts]:
    """Rows around centres."""

    def parts(seed: int) -> Parts:
        g = np.random.default_rng(seed)
        found = []
        for _ in range(2):
            y = g.permutation(np.repeat(np.arange(len(sizes)), sizes))
            e = g.standard_t(3, (y.size, 2)) if tails else g.normal(size=(y.size, 2))
            found.append((np.array(centres)[y] + e, y))
        return Parts(*found)

    return parts


def three_classes(seed: int) -> Parts:
    """Three classes of 90, 9 and 1 of a hundred rows."""
    g = np.random.default_rng(seed)
    found = []
    for _ in range(2):
        y = g.choice(3, 10_000, p=[0.90, 0.09, 0.01])
        found.append((g.normal(size=(y.size, 5)) + np.eye(5)[y] * 2.5, y))
    return Parts(*found)


def normal(d: int) -> Draw:
    """Independent features."""
    return lambda g, n: g.normal(size=(n, d))


def correlated(d: int, rho: float) -> Draw:
    """Features of which each two have the same correlation."""
    return lambda g, n: np.sqrt(1 - rho) * g.normal(size=(n, d)) + np.sqrt(rho) * g.normal(size=(n, 1))


def powers(g: np.random.Generator, n: int) -> np.ndarray:
    """Of a number between 0 and 1."""
    return g.uniform(size=(n, 1)) ** np.arange(1, 6)


def levels(g: np.random.Generator, n: int) -> np.ndarray:
    """One column for each of 30 levels, the commonest one 30 times as frequent as the rarest."""
    p = 1.0 / np.arange(1, 31)
    return np.eye(30)[g.choice(30, n, p=p / p.sum())]


def ill(g: np.random.Generator, n: int) -> np.ndarray:
    """Ten features, turned, of standard deviations from 1 down to 1e-3."""
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(10, 10)))[0]
    return g.normal(size=(n, 10)) * np.logspace(0, -3, 10) @ turn


def log_normal(g: np.random.Generator, n: int) -> np.ndarray:
    """Of sigma 2."""
    return np.exp(2.0 * g.normal(size=(n, 5)))


def heavy(g: np.random.Generator, n: int) -> np.ndarray:
    """Student's with 2.1 degrees of freedom."""
    return g.standard_t(2.1, (n, 5))


def drawn(g: np.random.Generator, d: int) -> np.ndarray:
    """Normal slopes."""
    return g.normal(size=d)


def fixed(*w: float) -> Draw:
    """These slopes, and zeros."""
    return lambda g, d: np.array([*w, *[0.0] * (d - len(w))])


def made() -> list[DataSet]:
    """Shapes on which a first-order descent, a start at the middle, or small blocks may fail."""
    student = lambda g, n: g.standard_t(2.1, n)  # noqa: E731
    skewed = lambda g, n: np.exp(1.5 * g.normal(size=n)) - np.exp(1.125)  # noqa: E731
    of = {
        "polynomial 1–5": regression(powers, fixed(3.0, -20.0, 40.0, -30.0, 12.0), 2_000),
        "ten features, ρ = 0.99": regression(correlated(10, 0.99), drawn, 20_000),
        "20 (x2 − x1), ρ = 0.999": regression(correlated(2, 0.999), fixed(-20.0, 20.0), 20_000),
        "30 levels, Zipf": regression(levels, drawn, 20_000),
        "log-normal features": regression(log_normal, fixed(1.0, -1.0, 0.5), 20_000),
        "ill-conditioned": regression(ill, drawn, 20_000),
        "heavy features": regression(heavy, drawn, 20_000),
        "heavy noise": regression(normal(5), drawn, 20_000, student),
        "skewed noise": regression(normal(5), drawn, 20_000, skewed),
    }
    logistic = {
        "ill-conditioned classes": classes(ill, drawn, 20_000),
        "heavy features, classes": classes(heavy, drawn, 20_000),
        "ρ = 0.99, classes": classes(correlated(10, 0.99), drawn, 20_000),
    }
    rare = {
        "2.3% ones": classes(normal(5), fixed(1.0, -0.5, 0.5), 20_000, -4.5),
        "three classes, 1%": three_classes,
        "30 levels, classes": classes(levels, drawn, 20_000, -2.0),
    }
    corners = [(0.0, 0.0), (10.0, 0.0), (0.0, 10.0)]
    clusters = {
        "three blobs": blobs([2_700, 250, 50], corners),
        "five blobs": blobs([600] * 5, [*corners, (10.0, 10.0), (5.0, 20.0)]),
        "heavy blobs": blobs([1_000] * 3, [(0.0, 0.0), (15.0, 0.0), (0.0, 15.0)], tails=True),
    }
    return [
        *(DataSet(name, "regression", parts) for name, parts in of.items()),
        *(DataSet(name, "classes", parts) for name, parts in logistic.items()),
        *(DataSet(name, "classes", parts, rare=True) for name, parts in rare.items()),
        *(DataSet(name, "clusters", parts) for name, parts in clusters.items()),
    ]
