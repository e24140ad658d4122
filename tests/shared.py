"""What the tests of a group, or of a folder, have in common: started for the first, ended after the last.

A test without a group belongs to its folder. A fixture of the session would stay to the end of all tests, and
idle workers are not idle: they watch their memory, send heartbeats and write logs.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Any


class Shared:
    """Things by their name; `tests/conftest.py` closes them."""

    def __init__(self) -> None:
        self._open = ExitStack()
        self._things: dict[str, Any] = {}

    @property
    def is_open(self) -> bool:
        return bool(self._things)

    def get(self, name: str, start: Callable[[], AbstractContextManager[Any]]) -> Any:
        if name not in self._things:
            self._things[name] = self._open.enter_context(start())
        return self._things[name]

    def close(self) -> None:
        self._things.clear()
        self._open.close()


SHARED = Shared()
