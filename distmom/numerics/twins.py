"""Compiled twins, imported on first use: small jobs never pay for importing Numba."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from distmom.numerics.readiness import READINESS


class CompiledTwin:
    """Stands for a module of kernels until one of them is requested; then it keeps that kernel."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, kernel: str) -> Any:
        if kernel.startswith("__"):  # copying and inspecting load nothing
            raise AttributeError(kernel)
        found = getattr(import_module(self._module), kernel)
        from distmom.numerics._jit import compile_entry

        compile_entry(found)
        setattr(self, kernel, found)
        return found

    def ready(self, kernel: str, n: int) -> bool:
        """Whether to call a kernel for `n` rows or cells; if not, NumPy does this work."""
        return READINESS.ready(self._module, kernel, n)


def compiled_twin(module: str) -> Any:
    """The kernels next to a module: ``kernels = compiled_twin(__name__)``."""
    return CompiledTwin(f"{module}_compiled")
