"""Kernels named on the command line: those of the catalogue, and the user's own functions."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distmom.errors import ConfigError, place_of

if TYPE_CHECKING:
    from distmom.numerics.kernels.kernel import Kernel

WORDS: dict[str, Any] = {"true": True, "false": False, "none": None}


def kernel_of(name: str, degree: str | None, parameters: tuple[str, ...], n_columns: int) -> Kernel:
    """A kernel of the catalogue, or ``MODULE:NAME``.

    The degree, such as ``3`` or ``2,1``, is two rows for a function unless it is given; parameters are
    ``NAME=VALUE`` each; a row of a function has as many columns as are named. ConfigError if there is no such
    kernel, or it has another degree or other parameters.
    """
    from distmom.numerics.kernels.named import named

    degrees, given = None if degree is None else _degrees(degree), parameters_of(parameters)
    made = _own_kernel(name, degrees, given, n_columns) if ":" in name else named(name, **given)
    if degrees not in (None, made.degrees):
        takes = ",".join(map(str, made.degrees))
        raise ConfigError(f"--degree: kernel {made.name!r} has {takes}, not {degree}; drop it")
    return made


def _own_kernel(
    name: str, degrees: tuple[int, ...] | None, parameters: dict[str, Any], n_columns: int
) -> Kernel:
    """A kernel as it is, or made from a function; modules are also searched in the working directory."""
    from distmom.numerics.kernels.function import kernel
    from distmom.numerics.kernels.kernel import Kernel

    module, _, attribute = name.partition(":")
    sys.path.append(str(Path.cwd()))
    try:
        found = getattr(import_module(module), attribute)
    except (KeyboardInterrupt, MemoryError):
        raise
    except BaseException as error:  # a module may do anything, such as end the process
        said = " ".join(str(error).split())
        if place := place_of(error):
            told = f"{type(error).__name__}: {said}" if said else type(error).__name__
            raise ConfigError(f"--kernel: {place}: {told}; correct the module {module!r}") from error
        raise ConfigError(f"--kernel: {name!r} cannot be imported ({said}); give MODULE:NAME") from error
    finally:
        sys.path.pop()
    if isinstance(found, Kernel):
        return found
    taken: Any = 2 if degrees is None else degrees[0] if len(degrees) == 1 else degrees
    try:
        return kernel(found, taken, **{"columns": max(n_columns, 1), **parameters})
    except TypeError as error:
        raise ConfigError(f"--parameter: of a function, columns, symmetrize or compiled: {error}") from error


def _degrees(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError as error:
        raise ConfigError(f"--degree: must be a number, or numbers such as 2,1, not {text!r}") from error


def parameters_of(given: tuple[str, ...]) -> dict[str, Any]:
    """Parameters of the kernel: numbers, booleans and lists, if they look like these."""
    found: dict[str, Any] = {}
    for text in given:
        name, sign, value = text.partition("=")
        if not sign or not name:
            raise ConfigError(f"--parameter: must be NAME=VALUE such as bandwidth=1.5, not {text!r}")
        key = name.replace("-", "_")
        try:
            found[key] = int(value) if value.strip("+-").isdecimal() else float(value)
        except ValueError:
            found[key] = _list(text, value) if value.startswith("[") else WORDS.get(value.lower(), value)
    return found


def _list(text: str, value: str) -> Any:
    try:
        return json.loads(value)
    except ValueError as error:
        raise ConfigError(
            f"--parameter: a matrix is a list of its rows such as matrix=[[1,0],[0,1]], not {text!r}"
        ) from error
