"""Kernels from users' functions: tried, symmetrised, refused in one line."""

import pickle

import numba
import numpy as np
import pytest

from distmom.errors import ConfigError
from distmom.numerics.kernels.evaluate import block_sums
from distmom.numerics.kernels.function import kernel


def product_of_first(a, b):
    return a[..., 0] * b[..., 0]


def skewed(a, b):
    return np.maximum(a - 2.0 * b, 0.0)


def skewed_of_rows(a, b):
    return max(a - 2.0 * b, 0.0)


@pytest.mark.parametrize(("function", "compiled"), [(skewed, False), (skewed_of_rows, True)])
@pytest.mark.one_in(2)
def test_a_function_that_depends_on_the_order_is_refused_or_averaged(function, compiled):
    with pytest.raises(ConfigError, match=r"must not depend on the order of its rows.*symmetrize=True"):
        kernel(function, compiled=compiled)
    with pytest.raises(ConfigError, match="symmetric=False needs symmetrize=True"):
        kernel(function, compiled=compiled, symmetric=False)
    x = np.random.default_rng(1).normal(size=30)
    (found,) = block_sums(kernel(function, compiled=compiled, symmetric=False, symmetrize=True), x)
    values = skewed(x[:, None], x)
    assert found.mean == pytest.approx((values.sum() - np.trace(values)) / (30 * 29), rel=1e-12)
    (v,) = block_sums(kernel(function, compiled=compiled, symmetrize=True), x, form="v")
    assert v.mean == pytest.approx(values.mean(), rel=1e-12)


@pytest.mark.slow
def test_three_rows_are_averaged_over_all_six_orders():
    def f(a, b, c):
        return a * b * b - c * a

    found = kernel(f, degree=3, symmetrize=True)
    inlined = kernel(f, degree=3, symmetrize=True, compiled=True)
    with pytest.raises(ConfigError, match="must not depend on the order"):
        kernel(f, degree=3)
    x = np.random.default_rng(2).normal(size=8)
    (one,), (other,) = block_sums(found, x), block_sums(inlined, x)
    places = np.array(
        [(i, j, k) for i in range(8) for j in range(8) for k in range(8) if len({i, j, k}) == 3]
    )
    assert one.mean == pytest.approx(np.mean([f(*x[p]) for p in places]), rel=1e-12)
    assert other.mean == pytest.approx(one.mean, rel=1e-12)


def test_order_may_matter_on_the_rows_of_a_block_only():
    late = kernel(lambda a, b: np.where(np.maximum(abs(a), abs(b)) > 100, a, a + b))
    block_sums(late, np.arange(9.0))
    with pytest.raises(ConfigError, match="must not depend on the order"):
        block_sums(late, np.arange(1000.0))


def test_order_of_samples_may_matter():
    ahead = kernel(lambda x, y: x < y, n_samples=2)
    assert block_sums(ahead, np.array([1.0, 4.0]), np.array([2.0, 3.0]))[0].mean == 0.5


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"function": 3}, "function must be callable, got int"),
        ({"function": skewed, "degree": 9}, r"degree and n_samples must make .* got \(9, 1\)"),
        ({"function": skewed, "degree": 3, "n_samples": 2}, r"got \(3, 2\)"),
        ({"function": skewed, "columns": 0}, "columns must be a positive integer"),
        ({"function": lambda a, b: np.sum(a - b)}, "'<lambda>' must give one value for each tuple of rows"),
        (
            {"function": lambda a, b: abs(float(a) - float(b))},
            "failed on rows of numbers between -2 and 2 .TypeError",
        ),
        ({"function": lambda a: a}, "failed on rows of numbers between -2 and 2 .TypeError"),
        (
            {"function": lambda a, b: str(a) + b, "compiled": True},
            "failed on rows of numbers between -2 and 2",
        ),
    ],
)
def test_what_is_no_kernel_is_refused_in_one_line(arguments, match):
    with pytest.raises(ConfigError, match=match) as failure:
        kernel(**arguments)
    assert "\n" not in str(failure.value)


@pytest.mark.slow
def test_compiled_functions_may_be_compiled_already_and_travel():
    known = numba.njit(skewed_of_rows)
    made = kernel(known, symmetrize=True, compiled=True)
    x = np.arange(5.0)
    assert block_sums(made, x)[0].mean == block_sums(kernel(skewed, symmetrize=True), x)[0].mean
    again = pickle.loads(pickle.dumps(kernel(product_of_first, columns=None)))
    assert again.name == "product_of_first" and again.columns is None
    assert block_sums(again, np.ones((4, 3)))[0].mean == 1.0


def test_infinite_and_undefined_values_are_the_functions_own():
    made = kernel(lambda a, b: np.log(a) + np.log(b))  # NaN for the negative rows it is tried on
    assert np.isneginf(block_sums(made, np.array([0.0, 1.0, 2.0]))[0].mean)
