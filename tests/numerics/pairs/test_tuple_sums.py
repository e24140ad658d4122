"""Kernels of any degrees and any number of samples, over all tuples of a block."""

from itertools import combinations, product

import numpy as np
import pytest
from kernel_twins import statistic

from distmom.errors import ConfigError
from distmom.numerics.kernels import catalogue
from distmom.numerics.kernels.components import jackknife_variance
from distmom.numerics.kernels.evaluate import block_sums
from distmom.numerics.kernels.function import kernel
from distmom.numerics.pairs import tuple_sums as engine


def spread_of_four(a, b, c, d):
    return np.maximum(np.maximum(a, b), np.maximum(c, d)) - np.minimum(np.minimum(a, b), np.minimum(c, d))


def between(a, b, x):
    return (np.minimum(a, b) < x) & (x < np.maximum(a, b))


def in_order(x, y, z):
    return (x < y) & (y < z)


def apart(a, b, x, y):
    return np.abs(a - b) * (x + y)


KERNELS = {"four": (spread_of_four, 4), "two and one": (between, (2, 1)), "three": (in_order, (1, 1, 1))}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", KERNELS)
def test_all_tuples_are_taken_once(name, weighted, monkeypatch):
    function, degree = KERNELS[name]
    made = kernel(function, degree=degree)
    g = np.random.default_rng(5)
    samples = [g.integers(-9, 9, n).astype(float) for n in (7, 5, 4)[: len(made.degrees)]]
    weights = (
        tuple(g.integers(0, 4, s.size) + (np.arange(s.size) < 4.0) for s in samples) if weighted else None
    )
    monkeypatch.setattr(engine, "_AT_ONCE", 9)
    (found,) = block_sums(made, *samples, weights=weights)
    tuples = list(
        product(*(combinations(range(s.size), d) for s, d in zip(samples, made.degrees, strict=True)))
    )
    values, masses = [], []
    for chosen in tuples:
        values.append(function(*(s[i] for s, places in zip(samples, chosen, strict=True) for i in places)))
        own = weights or [np.ones(s.size) for s in samples]
        masses.append(np.prod([w[i] for w, places in zip(own, chosen, strict=True) for i in places]))
    values, masses = np.array(values, float), np.array(masses)
    assert found.n_tuples == np.count_nonzero(masses)
    assert found.mean == pytest.approx(np.average(values, weights=masses), rel=1e-12)
    assert found.second == pytest.approx(np.average(values**2, weights=masses), rel=1e-12)
    for t, rows in enumerate(found.row_means):
        for i, mean in enumerate(rows):
            own = [k for k, chosen in enumerate(tuples) if i in chosen[t] and masses[k] > 0]
            if own:
                assert mean == pytest.approx(
                    np.average(values[own], weights=masses[own]), rel=1e-12, abs=1e-12
                )


def test_the_energy_distance_is_its_kernel_of_two_and_two_rows():
    g = np.random.default_rng(6)
    x, y = g.normal(size=9), g.normal(size=7) + 0.5
    energy = catalogue.energy()
    own = kernel(lambda a, b, c, d: energy.value(*(v[..., None] for v in (a, b, c, d))), degree=(2, 2))
    right = block_sums(energy, x[:, None], y[:, None])
    (found,) = block_sums(own, x, y)
    assert found.mean == pytest.approx(statistic(energy, right), rel=1e-12)
    assert jackknife_variance(own, (found,)) == pytest.approx(jackknife_variance(energy, right), rel=1e-10)


def test_weighted_triples_are_not_counted_by_power_sums():
    g = np.random.default_rng(7)
    x, w = g.exponential(size=12), g.integers(0, 3, 12).astype(float)
    (found,) = block_sums(catalogue.third_moment(), x, weights=(w,))
    (again,) = block_sums(catalogue.third_moment(), x[w > 0], weights=(w[w > 0],))
    assert found.mean == pytest.approx(again.mean, rel=1e-12)
    (plain,) = block_sums(catalogue.third_moment(), x, weights=(np.full(12, 0.5),))
    assert plain.mean == pytest.approx(block_sums(catalogue.third_moment(), x)[0].mean, rel=1e-10)


def test_functions_of_several_samples_are_symmetrised_within_each():
    made = [kernel(apart, degree=(2, 2), symmetrize=s) for s in (False, True)]
    g = np.random.default_rng(8)
    x, y = g.normal(size=(2, 6))
    one, other = (block_sums(k, x, y)[0].mean for k in made)
    assert one == pytest.approx(other, rel=1e-12)
    skewed = kernel(lambda a, b, x: (a - 2.0 * b) * x, degree=(2, 1), symmetrize=True)
    inlined = kernel(lambda a, b, x: (a - 2.0 * b) * x, degree=(2, 1), symmetrize=True, compiled=True)
    assert block_sums(inlined, x, y)[0].mean == pytest.approx(block_sums(skewed, x, y)[0].mean, rel=1e-12)
    assert block_sums(skewed, x, y)[0].mean == pytest.approx(-x.mean() * y.mean(), rel=1e-12)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"degree": 9}, "2 to 8 rows"),
        ({"degree": (2, 0)}, "2 to 8 rows"),
        ({"degree": 3, "n_samples": 2}, "2 to 8 rows"),
        ({"degree": 4, "compiled": True}, "compiled functions take two or three rows"),
        ({"degree": (2, 1)}, "must not depend on the order"),
    ],
)
def test_what_is_refused(arguments, match):
    with pytest.raises(ConfigError, match=match) as failure:
        kernel(lambda *rows: rows[0] - 2.0 * rows[1] + 0.0 * rows[-1], **arguments)
    assert "\n" not in str(failure.value)
