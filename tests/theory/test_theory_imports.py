"""The room stays light: importing it loads no array library, and its examples run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import subprocess
import sys

import pytest

import distmom.theory

MODULES = [module.name for module in pkgutil.iter_modules(distmom.theory.__path__, "distmom.theory.")]


def test_import_loads_neither_scipy_nor_numpy() -> None:
    code = (
        f"import sys, {', '.join(MODULES)}; "
        "print(sorted({'numpy', 'scipy', 'pyarrow', 'numba', 'distributed'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0
