"""Results keep the call that made them, so that a report can tell how to run it again."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from distmom.lake.files.secrets import plain_address

P = ParamSpec("P")
R = TypeVar("R")

UNTOLD = frozenset(("client", "progress", "storage_options"))
"""Arguments that mean nothing elsewhere, or may hold secrets."""

MOST = 20
"""Members of a list or mapping that are kept."""


def recorded(function: Callable[P, R]) -> Callable[P, R]:
    """Let the result's ``run["call"]`` have the function's name and the arguments that are not defaults.

    Where no seed was given, the drawn one stands there, so that the call repeats the result.
    """
    signature = inspect.signature(function)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        found = function(*args, **kwargs)
        run = getattr(found, "run", None)
        if isinstance(run, dict):
            given = signature.bind(*args, **kwargs).arguments
            kept = {
                name: plainly(value)
                for name, value in given.items()
                if name not in UNTOLD and not _default(value, signature.parameters[name].default)
            }
            run["call"] = {"function": function.__name__, "arguments": kept | {"rng": run.get("seed")}}
        return found

    return call


def _default(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and bool(value == default))


def plainly(value: Any) -> Any:
    """Numbers and texts, lists and mappings of them; the type of anything else in angle brackets.

    Examples
    --------
    >>> plainly(["a", 1, {"b": object()}]), plainly("s3://me:secret@lake?token=x")
    (['a', 1, {'b': '<object>'}], 's3://lake?token=...')
    """
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, str):
        return plain_address(value)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, (list, tuple)):
        more = [f"... and {len(value) - MOST:,} more"] if len(value) > MOST else []
        return [plainly(v) for v in value[:MOST]] + more
    if type(value) is dict or (isinstance(value, Mapping) and len(value) <= MOST):
        return {str(k): plainly(v) for k, v in list(value.items())[:MOST]}
    name = getattr(value, "name", None)
    if is_dataclass(value) and not fields(value) and isinstance(name, str):
        return name  # a kernel of the catalogue without parameters
    return f"<{type(value).__name__}>"
