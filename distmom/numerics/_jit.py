"""The one place that configures Numba.

Kernels live at module level in ``*_compiled.py`` files next to the NumPy twin that gives the same bits;
only code that works on large inputs imports them, so small jobs never pay for importing Numba.
No ``fastmath`` and no ``parallel``: both would let the bits depend on the machine.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from hashlib import sha256
from types import FunctionType
from typing import Any, TypeVar

import numba
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

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


def _told(function: Any) -> Iterator[Any]:
    """What a compiled function is made of, and those that it calls."""
    code, cells = function.py_func.__code__, function.py_func.__closure__ or ()
    yield code.co_code, code.co_consts, code.co_names
    names = function.py_func.__globals__
    for inner in (*(cell.cell_contents for cell in cells), *map(names.get, code.co_names)):
        if hasattr(inner, "py_func"):
            yield from _told(inner)


def standing_for(kernel: F, name: str, **functions: Any) -> F:
    """The kernel with other functions under some of the names that it uses, known to caches by its own name.

    That name changes with what is compiled, so no cache answers for a function that was another one.
    """
    told = repr([told for function in functions.values() for told in _told(function)])
    made = FunctionType(kernel.__code__, {**kernel.__globals__, **functions}, kernel.__name__)
    made.__qualname__ = f"{kernel.__qualname__}_{name}_{sha256(told.encode()).hexdigest()[:12]}"
    return made  # type: ignore[return-value]


inline = numba.njit(inline="always")

anew = numba.njit(nogil=True, error_model="numpy")
"""Compile anew in each process what cannot be kept on disk: what takes a user's function, and generators.

A generator that comes from the cache is unknown to Numba when the next kernel that uses it is compiled.
"""


@intrinsic  # type: ignore[untyped-decorator]
def prefetch(typingctx: Any, array: Any, index: Any) -> Any:
    """Have the processor fetch a value of an array into its cache; a hint that changes no result."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        data = context.make_array(kind)(context, builder, arguments[0])
        place = cgutils.get_item_pointer(
            context, builder, kind, data, [arguments[1]], wraparound=False, boundscheck=False
        )
        i32, byte = ir.IntType(32), ir.IntType(8).as_pointer()
        hint = ir.FunctionType(ir.VoidType(), [byte, i32, i32, i32])
        function = builder.module.declare_intrinsic("llvm.prefetch", [byte], hint)
        to_read, keep_close, data_cache = i32(0), i32(3), i32(1)
        builder.call(function, [builder.bitcast(place, byte), to_read, keep_close, data_cache])
        return context.get_dummy_value()

    return types.void(array, types.intp), generate
