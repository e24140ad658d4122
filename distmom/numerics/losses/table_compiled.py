"""Functions of the table of losses, compiled for single numbers."""

# mypy: allow-untyped-defs, allow-untyped-calls, disable-error-code="misc"

from __future__ import annotations

from functools import cache
from typing import Any

from numba.extending import overload

from distmom.numerics._jit import inline
from distmom.numerics.kernels import exponential_compiled  # noqa: F401  # what losses call
from distmom.numerics.losses.table import Loss, where


@overload(where, inline="always")
def _where(condition, yes, no):
    return lambda condition, yes, no: yes if condition else no


@cache
def compiled_value(loss: Loss) -> Any:
    """Its value of x and the parameter."""
    return inline(loss.value)


@cache
def compiled_row_loss(loss: Loss) -> Any:
    """Its value of truth, prediction and parameter."""
    value = inline(loss.value)
    if loss.of == "labels":
        return inline(lambda truth, predicted, parameter: value(truth, predicted))
    return inline(lambda truth, predicted, parameter: value(truth - predicted, parameter))
