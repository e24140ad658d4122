"""Compile all kernels, for all their argument types, into the folder where they are kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from distmom.numerics._jit import Entry

PACKAGE = Path(__file__).parent


def kernel_modules() -> list[str]:
    """Names of all modules of kernels."""
    files = sorted(PACKAGE.rglob("*_compiled.py"))
    return [
        ".".join(("distmom.numerics", *file.relative_to(PACKAGE).with_suffix("").parts)) for file in files
    ]


def entries() -> list[Entry]:
    """All kernels that Python calls."""
    from distmom.numerics._jit import ENTRIES, MADE

    for module in kernel_modules():
        import_module(module)
    for make, values in MADE:
        for value in values:
            make(value)
    return list(ENTRIES)


def missing() -> int:
    """Number of kernels not kept yet; one with several types counts once."""
    from distmom.numerics._jit import is_kept

    return sum(not is_kept(one.kernel) for one in entries())


def warm_up(tell: Callable[[int, int], None] | None = None, part: int = 0, parts: int = 1) -> None:
    """Compile the kernels that are not kept yet.

    Several processes take a `part` each, which shortens the time accordingly. Kernels of one module
    stay together, since they call each other.
    """
    mine = list(_of_part(part, parts))
    for done, (kernel, types) in enumerate(mine):
        if tell is not None:
            tell(done, len(mine))
        kernel.compile(types)


def _of_part(part: int, parts: int) -> Iterator[tuple[Any, Any]]:
    found = entries()
    kinds = Counter(module_of(one) for one in found for _ in one.types)
    taken, owners = [0] * parts, {}
    for module, n in sorted(kinds.items(), key=lambda item: (-item[1], item[0])):
        owners[module] = taken.index(min(taken))
        taken[owners[module]] += n
    return ((one.kernel, types) for one in found if owners[module_of(one)] == part for types in one.types)


def module_of(one: Entry) -> str:
    """Name of the module of a kernel."""
    return str(one.kernel.py_func.__module__)
