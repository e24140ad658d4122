"""Work on its way to workers: as bytes, with the code of modules that workers may not have.

What is not installed (a module of the working directory, beside a script, or in a checkout) travels by value,
as Dask does for ``__main__`` alone; so the client's code is what runs. Schedulers pass bytes on without
unpacking them, and if a task cannot be unpacked it fails, not the connection of its worker.
"""

from __future__ import annotations

import pickle
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from types import ModuleType
from typing import Any

from distmom.cluster.outcome import Work
from distmom.errors import is_own_code

SMALL = 64_000
"""Bytes up to which a parcel goes with every task, rather than once to the workers."""

_registering = threading.Lock()


class Parcel:
    """Work as bytes, which a process unpacks once.

    Parameters
    ----------
    payload : bytes
        As `packed` makes them.
    """

    def __init__(self, payload: bytes) -> None:
        self.payload = payload
        self._opened: Work | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Parcel, (self.payload,)

    @property
    def large(self) -> bool:
        """Whether to send it once."""
        return len(self.payload) > SMALL

    def open(self) -> Work:
        """The work; functions in it are compiled once in a process, as it is the same object in all tasks."""
        if not self.large:
            return _opened(self.payload)
        if self._opened is None:  # two threads may do so at once: then the second one's stays
            self._opened = pickle.loads(self.payload)
        return self._opened


@lru_cache(maxsize=8)
def _opened(payload: bytes) -> Work:
    work: Work = pickle.loads(payload)
    return work


def packed(work: Work) -> Parcel:
    """A parcel; the errors of pickle if the work cannot be sent."""
    import cloudpickle

    try:
        with _by_value():
            return Parcel(cloudpickle.dumps(work))
    except Exception:  # a module that holds what cannot travel, such as a lock: then workers must have it
        return Parcel(cloudpickle.dumps(work))


@contextmanager
def _by_value() -> Iterator[None]:
    """Functions and classes of modules that are not installed are pickled with their code."""
    registered: list[tuple[Any, Any]] = []
    with _registering:
        loaded = [module for module in list(sys.modules.values()) if isinstance(module, ModuleType)]
        own = [module for module in loaded if is_own_code(vars(module).get("__file__"))]  # loads no lazy one
        try:
            copies = ("cloudpickle", "numba.cloudpickle")  # Numba's has a list of its own
            for pickler in [sys.modules[name] for name in copies if name in sys.modules]:
                listed = pickler.list_registry_pickle_by_value()
                for module in own:
                    if module.__name__ in sys.modules and module.__name__ not in listed:
                        pickler.register_pickle_by_value(module)
                        registered.append((pickler, module))
            yield
        finally:
            for pickler, module in registered:
                pickler.unregister_pickle_by_value(module)
