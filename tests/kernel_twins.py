"""Slow twins of the catalogue: each kernel written down for rows of plain numbers, and double loops."""

import math
from itertools import combinations, product

import numpy as np

from distmom.numerics.kernels import catalogue

MATRIX = ((2.0, 0.3), (0.3, 1.0))


def statistic(kernel, sums):
    """What the kernel makes of the means of its parts."""
    return kernel.combine(*(part.mean for part in sums))


def sign(a):
    return (a > 0) - (a < 0)


def squared(a, b):
    return sum((p - q) ** 2 for p, q in zip(a, b, strict=True))


def ranked(loss, at_tie, magnitude=False):
    def risk(a, b):
        if a[0] == b[0]:
            return at_tie
        weight = a[0] - b[0] if magnitude else sign(a[0] - b[0])
        return loss(-(a[1] - b[1]) * weight)

    return risk


def in_cell(a, b, power):
    return squared(a[1:], b[1:]) ** power if a[0] == b[0] else 0.0


def metric_loss(a, b):
    d = [a[1] - b[1], a[2] - b[2]]
    quadratic = sum(d[i] * MATRIX[i][j] * d[j] for i in range(2) for j in range(2))
    return max(0.0, 1.0 + (1.0 if a[0] == b[0] else -1.0) * (quadratic - 2.0))


def zero_one(z):
    return 0.5 if z == 0 else float(z > 0)


def triple(a, b, c):
    x, y, z = a[0], b[0], c[0]
    cubes = (x**3 + y**3 + z**3) / 3
    mixed = (x * x * (y + z) + y * y * (x + z) + z * z * (x + y)) / 2
    return cubes - mixed + 2 * x * y * z


PLAIN = {
    "variance": (catalogue.variance(), 1, lambda a, b: (a[0] - b[0]) ** 2 / 2),
    "gini": (catalogue.gini(), 1, lambda a, b: abs(a[0] - b[0])),
    "distance-1": (catalogue.distance(), 1, lambda a, b: abs(a[0] - b[0])),
    "distance": (catalogue.distance(), 3, lambda a, b: math.sqrt(squared(a, b))),
    "squared-distance": (catalogue.squared_distance(), 3, squared),
    "rbf": (catalogue.rbf(1.5), 2, lambda a, b: math.exp(-squared(a, b) / 4.5)),
    "laplace-1": (catalogue.laplace(1.5), 1, lambda a, b: math.exp(-abs(a[0] - b[0]) / 1.5)),
    "laplace": (
        catalogue.laplace(1.5),
        2,
        lambda a, b: math.exp(-(abs(a[0] - b[0]) + abs(a[1] - b[1])) / 1.5),
    ),
    "kendall": (catalogue.kendall(), 2, lambda a, b: sign(a[0] - b[0]) * sign(a[1] - b[1])),
    "ranking": (catalogue.ranking(), 2, ranked(zero_one, 0.0)),
    "ranking-half": (catalogue.ranking(ties="half"), 2, ranked(zero_one, 0.5)),
    "ranking-hinge": (catalogue.ranking("hinge"), 2, ranked(lambda z: max(0, 1 + z), 0.0)),
    "ranking-hinge-magnitude": (
        catalogue.ranking("hinge", "magnitude", "half"),
        2,
        ranked(lambda z: max(0, 1 + z), 0.5, True),
    ),
    "ranking-logistic": (
        catalogue.ranking("logistic", "magnitude", "half"),
        2,
        ranked(lambda z: math.log1p(math.exp(z)), math.log(2) / 2, True),
    ),
    "clustering": (catalogue.clustering(), 3, lambda a, b: in_cell(a, b, 1)),
    "clustering-1": (catalogue.clustering("euclidean"), 2, lambda a, b: in_cell(a, b, 0.5)),
    "clustering-euclidean": (catalogue.clustering("euclidean"), 3, lambda a, b: in_cell(a, b, 0.5)),
    "mahalanobis": (catalogue.mahalanobis(MATRIX), 3, metric_loss),
}
"""Kernel, columns, and the function of two rows (tuples of numbers)."""


def twin_sums(function, samples, degrees, weights=None, form="u"):
    """Count, mean, mean of squares and means at rows, in exact order of plain loops, weights multiplied."""
    sizes = [len(sample) for sample in samples]
    weights = [np.ones(n) for n in sizes] if weights is None else weights
    choose = [
        list(combinations(range(n), d) if form == "u" else product(range(n), repeat=d))
        for n, d in zip(sizes, degrees, strict=True)
    ]
    total = squares = mass = 0.0
    at_rows = [np.zeros(n) for n in sizes]
    mass_at_rows = [np.zeros(n) for n in sizes]
    count = 0
    for parts in product(*choose):
        rows = [samples[t][i] for t, part in enumerate(parts) for i in part]
        value = function(*rows)
        weight = math.prod(float(weights[t][i]) for t, part in enumerate(parts) for i in part)
        count += weight > 0
        total += weight * value
        squares += weight * value * value
        mass += weight
        for t, part in enumerate(parts):
            for place, i in enumerate(part):
                if form == "v" and place:
                    continue  # symmetric: the mean over all tuples with row i in front
                own = float(weights[t][i])
                if own > 0:
                    at_rows[t][i] += weight / own * value
                    mass_at_rows[t][i] += weight / own
    with np.errstate(invalid="ignore", divide="ignore"):
        means = [sums / masses for sums, masses in zip(at_rows, mass_at_rows, strict=True)]
    return count, total / mass, squares / mass, means


def sample_of(kernel, columns, rng, n, tied):
    """Rows as the kernel takes them; labels are few, tied values are multiples of 1/2."""
    rows = rng.normal(size=(n, columns)) * 2
    if tied:
        rows = np.round(rows) / 2
    if kernel.name in ("clustering", "mahalanobis"):
        rows[:, 0] = rng.integers(0, 3, n)
    return kernel.as_sample(rows)


def as_rows(sample):
    return [tuple(row) if np.ndim(row) else (row,) for row in sample.tolist()]
