"""Compiled twins are looked up by name when they are first used: these names exist, and Numba loads late."""

from __future__ import annotations

import ast
import copy
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from distmom.numerics.twins import compiled_twin

PACKAGE = Path(__file__).parent.parent.parent / "distmom"
USERS = [
    path for path in sorted(PACKAGE.rglob("*.py")) if "\n_kernels = compiled_twin(" in path.read_text("utf-8")
]


def twin_of(path: Path, text: str) -> Path:
    """The module of kernels that a module names."""
    own = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    named = text.split(" = compiled_twin(")[1].split(")")[0].strip('"')
    return PACKAGE.parent / ((own if named == "__name__" else named).replace(".", "/") + "_compiled.py")


@pytest.mark.parametrize("path", USERS, ids=lambda path: path.stem)
def test_kernels_that_a_module_names_exist(path: Path) -> None:
    text = path.read_text("utf-8")
    used = {
        node.attr
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "_kernels"
    }
    there: set[str] = set()
    for node in ast.parse(twin_of(path, text).read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            there.add(node.name)
        elif isinstance(node, ast.Assign):
            there |= {
                leaf.id for target in node.targets for leaf in ast.walk(target) if isinstance(leaf, ast.Name)
            }
        elif isinstance(node, ast.ImportFrom):
            there |= {alias.name for alias in node.names}
    assert used
    assert used <= there


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
