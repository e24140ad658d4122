"""Examples in docstrings run."""

import doctest
import importlib
from pathlib import Path

import pytest

import distmom.inference.share as room

NAMES = sorted(path.stem for path in Path(room.__file__).parent.glob("[a-z]*.py"))


@pytest.mark.parametrize("name", NAMES)
def test_examples_run(name):
    assert doctest.testmod(importlib.import_module(f"{room.__name__}.{name}")).failed == 0
