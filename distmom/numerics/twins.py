"""Compiled twins, imported on first use: small jobs never pay for importing Numba."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class CompiledTwin:
    """Stands for a module of kernels until one of them is asked for; then it holds that kernel itself."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, kernel: str) -> Any:
        if kernel.startswith("__"):  # copying and inspecting load nothing
            raise AttributeError(kernel)
        found = getattr(import_module(self._module), kernel)
        setattr(self, kernel, found)
        return found


def compiled_twin(module: str) -> Any:
    """The kernels next to a module: ``kernels = compiled_twin(__name__)``."""
    return CompiledTwin(f"{module}_compiled")
