"""The one place that configures Numba.

Kernels live at module level in ``*_compiled.py`` files next to the NumPy twin that gives the same bits;
only code that works on large inputs imports them, so small jobs never pay for importing Numba.
No ``fastmath`` and no ``parallel``: both would let the bits depend on the machine.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import numba

F = TypeVar("F", bound=Callable[..., Any])


def njit(function: F, *, error_model: str = "python") -> F:
    """Compile without the interpreter lock; cache on disk where a cache can be written.

    ``error_model="numpy"`` makes a division by zero infinite or NaN, not an error: loops with a division are
    then vectorised.

    Numba raises at decoration time when neither the package's folder nor the user's home is writable
    (a read-only install); compiling anew in each process is then the only way.
    """
    return _compiled(function, nogil=True, error_model=error_model)


def brief(function: F) -> F:
    """Compile a kernel that keeps the interpreter lock: for work of a few microseconds.

    Giving the lock up for so short only invites another thread to take it, and then to be waited for.
    """
    return _compiled(function, nogil=False, error_model="python")


def _compiled(function: F, *, nogil: bool, error_model: str) -> F:
    try:
        return numba.njit(nogil=nogil, cache=True, error_model=error_model)(function)  # type: ignore[no-any-return]
    except RuntimeError:
        warnings.warn(
            "numba can write its cache nowhere: kernels are compiled anew in each process; "
            "set NUMBA_CACHE_DIR to a writable folder",
            RuntimeWarning,
            stacklevel=3,
        )
        return numba.njit(nogil=nogil, error_model=error_model)(function)  # type: ignore[no-any-return]


inline = numba.njit(inline="always")

anew = numba.njit(nogil=True, error_model="numpy")
"""Compile anew in each process: what takes a user's function cannot be kept on disk."""
