"""The arguments of a public function, for who only wants to know what it would do with them."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from typing import Any

from distmom.errors import ConfigError


def arguments_of(function: Callable[..., Any], *given: Any, **options: Any) -> dict[str, Any]:
    """All arguments of a call, defaults included; a Generator is copied, as looking must not advance it.

    Raises
    ------
    ConfigError
        If the function would not take them.
    """
    try:
        bound = inspect.signature(function).bind(*given, **options)
    except TypeError as error:
        raise ConfigError(f"explain_{function.__name__}: {error}") from error
    bound.apply_defaults()
    return {**bound.arguments, "rng": copy.deepcopy(bound.arguments["rng"])}
