"""Functions of the table of losses, compiled for single numbers."""

# mypy: allow-untyped-defs, allow-untyped-calls, disable-error-code="misc, untyped-decorator"

from __future__ import annotations

from functools import cache
from typing import Any

from numba.extending import overload

from distmom.numerics._jit import inline
from distmom.numerics.kernels.exponential import exp_of_negative, softplus, where
from distmom.numerics.losses.table import LossFunction


@overload(where)
def _where(condition, yes, no):
    return lambda condition, yes, no: yes if condition else no


@overload(exp_of_negative, inline="always")
def _exp_of_negative(x: Any) -> Any:
    return exp_of_negative


@overload(softplus, inline="always")
def _softplus(x: Any) -> Any:
    return softplus


@cache
def compiled_value(loss: LossFunction) -> Any:
    """Its value of x and the parameter."""
    return inline(loss.value)


@cache
def compiled_row_loss(loss: LossFunction) -> Any:
    """Its value of truth, prediction and parameter."""
    value = inline(loss.value)
    if loss.of == "labels":
        return inline(lambda truth, predicted, parameter: value(truth, predicted))
    return inline(lambda truth, predicted, parameter: value(truth - predicted, parameter))
