"""The one place that configures Numba.

Kernels are at module level in ``*_compiled.py`` files beside their NumPy twin, which gives the same bits.
Only code that works on large inputs imports them, so small jobs never pay for importing Numba.
Neither ``fastmath`` nor ``parallel``: both would make the bits depend on the machine.

Functions that Python calls are an `entry`, which names its argument types; `njit` is for what entries call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from hashlib import sha256
from types import FunctionType
from typing import Any, NamedTuple, TypeVar

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.event import Listener, register
from numba.extending import intrinsic

from distmom.numerics.kernel_folder import BESIDE, kernel_folder
from distmom.numerics.kernel_types import kernel_types
from distmom.numerics.readiness import READINESS, alone

F = TypeVar("F", bound=Callable[..., Any])


class Entry(NamedTuple):
    """A kernel that Python calls.

    Attributes
    ----------
    kernel : Dispatcher
    types : tuple
        Types of its arguments, for each kind of call.
    pays : float
        Rows, or cells, at which the extra time of its twin equals the time of compiling.
    """

    kernel: Any
    types: tuple[Any, ...]
    pays: float


ENTRIES: list[Entry] = []
"""All imported entries."""

MADE: list[tuple[Callable[[Any], Any], tuple[Any, ...]]] = []
"""Functions that make entries, with all values that they make them of."""

_folder = kernel_folder()
KEPT = _folder is not None
"""Whether kernels are kept for other processes."""

if _folder is not None and _folder != BESIDE:
    numba.config.CACHE_DIR = str(_folder)


def njit(function: F, *, error_model: str = "python") -> F:
    """Compile a function that kernels call, without the interpreter lock; kept on disk if there is a folder.

    ``error_model="numpy"`` makes a division by zero infinite or NaN, not an error: loops with a division are
    then vectorised.
    """
    return _compiled(function, nogil=True, error_model=error_model)


def entry(
    *takes: str, pays: float = 0, keep_lock: bool = False, error_model: str = "python"
) -> Callable[[F], F]:
    """A kernel that Python calls, with arguments of these types (`kernel_types`), one text per kind of call.

    If a twin does the first work, compiling `pays` from this many rows or cells on.

    With `keep_lock` it keeps the interpreter lock: for work of a few microseconds. Releasing the lock for so
    short a time only invites another thread to take it, which must then be waited for.
    """

    def compiled(function: F) -> F:
        made = _compiled(function, nogil=not keep_lock, error_model=error_model)
        ENTRIES.append(Entry(made, tuple(map(kernel_types, takes)), pays))
        return made

    return compiled


def _compiled(function: F, *, nogil: bool, error_model: str) -> F:
    # no kernel is passed to another one, so none needs a C function of its own
    how = {"nogil": nogil, "error_model": error_model, "no_cfunc_wrapper": True}
    try:
        made = numba.njit(cache=KEPT, **how)(function)
    except RuntimeError:  # Numba finds no folder for the files of this module
        made = numba.njit(**how)(function)
    made._cache.save_overload = _suppressing(made._cache.save_overload)
    return made  # type: ignore[no-any-return]


def _suppressing(save: Callable[..., None]) -> Callable[..., None]:
    def saved(*overload: Any) -> None:
        with suppress(OSError):  # a full disk: the kernel works all the same
            save(*overload)

    return saved


def _entry_of(kernel: Any) -> Entry | None:
    return next((one for one in ENTRIES if one.kernel is kernel), None)


def pays_from(kernel: Any) -> float:
    """Rows, or cells, from which on compiling an entry pays off."""
    one = _entry_of(kernel)
    assert one is not None, kernel
    return one.pays


def is_kept(kernel: Any) -> bool:
    """Whether an entry is loaded for all its types, or can be."""
    one = _entry_of(kernel)
    assert one is not None, kernel
    if all(types in kernel.overloads for types in one.types):
        return True
    if not KEPT:
        return False
    try:
        kept = kernel._cache._cache_file._load_index()
    except Exception:  # whatever pickle raises for a damaged file
        return False
    codegen = kernel.targetctx.codegen()
    return all(kernel._cache._index_key(types, codegen) in kept for types in one.types)


def compile_entry(kernel: Any) -> None:
    """Compile an entry that is not kept, for all its types, unless another process has done so meanwhile."""
    one = _entry_of(kernel)
    if one is None or not KEPT or is_kept(kernel):
        return
    with alone():
        for types in one.types:
            kernel.compile(types)


class _Compiling(Listener):  # type: ignore[misc]
    """Counts the compilations in progress."""

    def on_start(self, event: Any) -> None:
        READINESS.n_compiling += 1

    def on_end(self, event: Any) -> None:
        READINESS.n_compiling -= 1


register("numba:compile", _Compiling())


def entries_for(values: Iterable[Any]) -> Callable[[F], F]:
    """Registers a function that makes entries, with all values that it makes one of."""

    def noted(make: F) -> F:
        MADE.append((make, tuple(values)))
        return make

    return noted


def _told(function: Any) -> Iterator[Any]:
    """Everything that a compiled function, and those it calls, is built from."""
    code, cells = function.py_func.__code__, function.py_func.__closure__ or ()
    yield code.co_code, code.co_consts, code.co_names
    names = function.py_func.__globals__
    for inner in (*(cell.cell_contents for cell in cells), *map(names.get, code.co_names)):
        if hasattr(inner, "py_func"):
            yield from _told(inner)


def standing_for(kernel: F, name: str, **functions: Any) -> F:
    """The kernel with other functions under some of the names that it uses, cached under a name of its own.

    That name changes with the compiled functions, so a cache never returns code of a different function.
    """
    told = repr([told for function in functions.values() for told in _told(function)])
    made = FunctionType(kernel.__code__, {**kernel.__globals__, **functions}, kernel.__name__)
    made.__qualname__ = f"{kernel.__qualname__}_{name}_{sha256(told.encode()).hexdigest()[:12]}"
    return made  # type: ignore[return-value]


inline = numba.njit(inline="always")
"""For functions that other kernels inline. Not for a choice between two arrays: references to both are then
counted at each call, which in a loop takes longer than most operations on a value.
"""

anew = numba.njit(nogil=True, error_model="numpy")
"""Compile anew in each process what cannot be kept on disk: kernels with a user's function, and generators.

When the next kernel that uses it is compiled, Numba does not know a generator that comes from the cache.
"""


def _item_pointer(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Where an item lies, of an array and an index."""
    kind = signature.args[0]
    data = context.make_array(kind)(context, builder, arguments[0])
    return cgutils.get_item_pointer(
        context, builder, kind, data, [arguments[1]], wraparound=False, boundscheck=False
    )


@intrinsic  # type: ignore[untyped-decorator]
def prefetch(typingctx: Any, array: Any, index: Any) -> Any:
    """Make the processor fetch a value of an array into its cache; a hint that changes no result."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _item_pointer(context, builder, signature, arguments)
        i32, byte = ir.IntType(32), ir.IntType(8).as_pointer()
        hint = ir.FunctionType(ir.VoidType(), [byte, i32, i32, i32])
        function = builder.module.declare_intrinsic("llvm.prefetch", [byte], hint)
        to_read, keep_close, data_cache = i32(0), i32(3), i32(1)
        builder.call(function, [builder.bitcast(place, byte), to_read, keep_close, data_cache])
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


@intrinsic  # type: ignore[untyped-decorator]
def _pointer(typingctx: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(address), generate


@njit
def values_at(address, n):  # type: ignore[no-untyped-def]
    """The n numbers at an address: for kernels of any number of columns, which arrive as their addresses."""
    return numba.carray(_pointer(address), (n,), dtype=np.float64)


@intrinsic  # type: ignore[untyped-decorator]
def word_at(typingctx: Any, array: Any, index: Any) -> Any:
    """The eight bytes from a place on, which need not be aligned, as one number."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _item_pointer(context, builder, signature, arguments)
        return builder.load(builder.bitcast(place, ir.IntType(64).as_pointer()), align=1)

    return types.uint64(array, types.intp), generate
