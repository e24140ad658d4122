"""Of a table of cases the extremes are tried by default, what lies between in the slow run."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pytest


def quick(table: Mapping[str, Any], names: Collection[str]) -> Any:
    """One parameter a case, `slow` but for those named."""
    assert set(names) <= set(table), set(names) - set(table)
    return [
        pytest.param(value, id=name, marks=() if name in names else pytest.mark.slow)
        for name, value in table.items()
    ]
