"""Compiled twins are looked up by name when they are first used: these names exist, and Numba loads late."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from distmom.numerics._jit import ENTRIES, MADE, pays_from
from distmom.numerics.twins import compiled_twin

PACKAGE = Path(__file__).parent.parent.parent / "distmom"
USERS = [path for path in sorted(PACKAGE.rglob("*.py")) if " = compiled_twin(" in path.read_text("utf-8")]
TWIN = re.compile(r"^ *(\w+)(?:: ClassVar\[Any\])? = compiled_twin\((.*?)\)$", re.MULTILINE)
OTHERS = {"MAGIC_BITS", "ROOM", "WIDTH", "compile_function", "values"}
"""Numbers, and what calls kernels that are never kept."""


def users_of(path: Path) -> list[tuple[str, str, Path]]:
    """Name of each twin in a module, the module of its kernels, and the file that calls them."""
    own = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    callers = {"kernels": PACKAGE / "numerics/blocks/block_state.py"}
    return [
        (name, (own if of == "__name__" else of.strip('"')) + "_compiled", callers.get(name, path))
        for name, of in TWIN.findall(path.read_text("utf-8"))
    ]


@pytest.mark.parametrize("path", USERS, ids=lambda path: path.stem)
def test_kernels_that_a_module_names_are_entries(path: Path) -> None:
    """So they name their types, which `distmom warm-up` compiles, and none can be forgotten."""
    for name, module, caller in users_of(path):
        text = caller.read_text("utf-8")
        called = set(re.findall(rf"\b{name}\.(\w+)", text)) - {"ready"} - OTHERS
        asked = set(re.findall(rf'\b{name}\.ready\("(\w+)"', text))
        if name == "kernels":
            called = asked = {"merge_few", "merge_flat", "total_rows"}
        assert called or name == "_kernels"
        assert asked <= called
        kernels = {kernel: getattr(import_module(module), kernel) for kernel in called}
        makers = [make for make, _ in MADE]
        users = {"triple_sums"}  # compiled anew for each function of a user
        for kernel, found in kernels.items():
            assert kernel in users or found in makers or [one for one in ENTRIES if one.kernel is found], (
                kernel
            )
        assert {kernel for kernel in called - users if kernel in asked} == {
            kernel for kernel, found in kernels.items() if kernel in asked and pays_from(found) > 0
        }


def test_a_twin_loads_nothing_until_a_kernel_is_used() -> None:
    code = (
        "import sys; from distmom.numerics.blocks.leaf import _kernels as k; import copy; copy.copy(k)\n"
        "print('numba' in sys.modules); k.middle_value; print('numba' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "True"]


def test_twins_travel_and_miss_what_is_not_there() -> None:
    twin = compiled_twin("distmom.numerics.blocks.leaf")
    assert copy.copy(pickle.loads(pickle.dumps(twin))).middle_value is twin.middle_value
    with pytest.raises(AttributeError, match="nothing_of_that_name"):
        _ = twin.nothing_of_that_name
