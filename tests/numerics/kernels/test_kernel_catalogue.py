"""Names, parameters and shapes of the catalogue, and what it refuses."""

import pickle

import numpy as np
import pytest
from kernel_twins import statistic

import distmom
from distmom import kernels
from distmom.errors import ConfigError
from distmom.numerics.kernels.catalogue import KERNELS
from distmom.numerics.kernels.components import jackknife_variance
from distmom.numerics.kernels.evaluate import block_sums
from distmom.numerics.kernels.named import named

PARAMETERS = {
    "mmd": {"bandwidth": 1.0},
    "rbf": {"bandwidth": 2.0},
    "laplace": {"bandwidth": 2.0},
    "mahalanobis": {"matrix": [[2.0, 0.5], [0.5, 1.0]]},
}


@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel_works_by_name_and_survives_a_journey(name):
    kernel = named(name.replace("-", "_"), **PARAMETERS.get(name, {}))
    again = pickle.loads(pickle.dumps(kernel))
    assert again == kernel and hash(again) == hash(kernel)
    columns = kernel.columns or max(2, kernel.least_columns)
    kernel.check_columns(columns)
    rng = np.random.default_rng(1)
    samples = [kernel.as_sample(np.round(rng.normal(size=(20, columns)), 1)) for _ in kernel.degrees]
    one, other = (statistic(k, block_sums(k, *samples)) for k in (kernel, again))
    assert np.array_equal(one, other) and np.isfinite(one).all()
    assert np.shape(one) == kernel.shape(columns)
    assert np.isfinite(jackknife_variance(kernel, block_sums(kernel, *samples))).all()


def test_the_public_module_has_all_of_it():
    assert distmom.kernels is kernels
    names = {name.replace("-", "_") for name in KERNELS} - {"std_squared"}
    assert names | {"kernel", "named", "Kernel", "KERNELS"} == set(kernels.__all__)
    assert named("std-squared") == kernels.variance()


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: named("gnii"), "did you mean 'gini'"),
        (lambda: named("zzz"), "choose one of variance, "),
        (lambda: named("mmd"), "'mmd' takes bandwidth.* got none.*missing"),
        (lambda: named("gini", width=3), r"'gini' takes no parameters; got width=3"),
        (lambda: kernels.rbf(0.0), "bandwidth must be a positive number, got 0.0"),
        (lambda: kernels.mmd(np.nan), "bandwidth must be a positive number, got nan"),
        (lambda: kernels.mmd(1.0, "cosine"), "similarity must be rbf or laplace, got 'cosine'"),
        (
            lambda: kernels.ranking(loss="square"),
            "loss must be one of hinge, logistic, zero-one, got 'square'",
        ),
        (lambda: kernels.ranking(ties="keep"), "ties must be one of"),
        (lambda: kernels.ranking(margin="no"), "margin must be one of"),
        (lambda: kernels.clustering("cosine"), "distance must be one of"),
        (
            lambda: kernels.mahalanobis([[1.0, 2.0], [2.0, 1.0]]),
            "positive semi-definite.*negative eigenvalue",
        ),
        (lambda: kernels.mahalanobis([[-1.0]]), "negative eigenvalue"),
        (lambda: kernels.mahalanobis([[1.0, 2.0]]), r"square, symmetric and finite, got shape \(1, 2\)"),
        (lambda: kernels.mahalanobis([[1.0, 2.0], [0.0, 1.0]]), "symmetric"),
        (lambda: kernels.gini().check_columns(2), "'gini' takes 1 column, got 2"),
        (lambda: kernels.kendall().check_columns(1), "'kendall' takes 2 columns, got 1"),
        (lambda: kernels.clustering().check_columns(1), "at least 2 columns, got 1"),
        (lambda: kernels.mahalanobis([[1.0]]).check_columns(3), "'mahalanobis' takes 2 columns, got 3"),
    ],
)
def test_what_it_refuses_in_one_line(make, match):
    with pytest.raises(ConfigError, match=match) as failure:
        make()
    assert "\n" not in str(failure.value)


@pytest.mark.parametrize(
    "matrix",
    [
        [[1e-9, 0.0], [0.0, 0.0]],
        [[2e-9, 1e-9], [1e-9, 2e-9]],
        [[1.0, 1.0], [1.0, 1.0]],
        [[0.0, 0.0], [0.0, 0.0]],
    ],
)
def test_metrics_may_be_tiny_singular_or_zero(matrix):
    x = np.column_stack([np.arange(10) % 2, np.random.default_rng(2).normal(size=(10, 2)) * 1e4])
    (found,) = block_sums(kernels.mahalanobis(matrix), x)
    d = x[:, None, 1:] - x[None, :, 1:]
    quadratic = np.einsum("ija,ab,ijb->ij", d, np.array(matrix), d)
    side = np.where(x[:, None, 0] == x[None, :, 0], 1.0, -1.0)
    values = np.maximum(0.0, 1.0 + side * (quadratic - 2.0))
    assert found.mean == pytest.approx((values.sum() - np.trace(values)) / 90, rel=1e-10)


def test_a_statistic_without_a_function_says_so():
    with pytest.raises(NotImplementedError, match="concordance has no value of its own"):
        kernels.concordance().value(np.zeros(2), np.zeros(2))


def test_what_a_kernel_takes_is_said_in_plain_words():
    with pytest.raises(ConfigError, match=r"takes bandwidth, similarity='rbf' by default; got none"):
        named("mmd")
    for matrix in ("1,0;0,1", [[1, "x"], [0, 1]], [[1, 0], [0]]):
        with pytest.raises(ConfigError, match=r"rows of numbers.*such as \[\[1, 0\], \[0, 1\]\]"):
            named("mahalanobis", matrix=matrix)
