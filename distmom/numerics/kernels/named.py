"""Kernels of the catalogue by their names."""

from __future__ import annotations

import inspect
from typing import Any

from distmom.checks import did_you_mean
from distmom.errors import ConfigError
from distmom.numerics.kernels.catalogue import KERNELS
from distmom.numerics.kernels.kernel import Kernel


def named(name: str, **parameters: Any) -> Kernel:
    """The kernel of this name.

    Parameters
    ----------
    name : str
        One of `KERNELS`, with hyphens or underscores.
    **parameters
        As the function of that name takes them.

    Raises
    ------
    ConfigError
        If there is no such kernel, or it does not accept these parameters, or needs others.

    Examples
    --------
    >>> named("kendall_b").columns
    2
    """
    key = name.replace("_", "-").lower()
    if key not in KERNELS:
        hint = did_you_mean(key, KERNELS) or f"; choose one of {', '.join(KERNELS)}"
        raise ConfigError(f"kernel must be a name of the catalogue or a kernel object, got {name!r}{hint}")
    make = KERNELS[key]
    takes = inspect.signature(make)
    try:
        takes.bind(**parameters)
    except TypeError as cause:
        shown = ", ".join(map(_shown, takes.parameters.values())) or "no parameters"
        given = ", ".join(f"{word}={value!r}" for word, value in parameters.items()) or "none"
        unknown = next((word for word in parameters if word not in takes.parameters), None)
        hint = "" if unknown is None else did_you_mean(unknown, takes.parameters)
        raise ConfigError(f"kernel {key!r} takes {shown}; got {given}{hint or f' ({cause})'}") from cause
    return make(**parameters)


def _shown(parameter: inspect.Parameter) -> str:
    """A parameter by its name, with its default if it has one."""
    bare = parameter.replace(annotation=inspect.Parameter.empty)
    return str(bare) if bare.default is inspect.Parameter.empty else f"{bare} by default"
