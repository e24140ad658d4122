"""Work sent to workers: as bytes, with the code of modules that workers may lack.

Modules that are not installed (in the working directory, next to a script, or in a checkout) are pickled by
value, as Dask does only for ``__main__``; so the client's code runs. Schedulers pass bytes on without
unpacking them, and if a task cannot be unpacked, the task fails rather than its worker's connection.
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
"""Up to this many bytes a parcel is sent with every task, rather than once to the workers."""

_registering = threading.Lock()


class Parcel:
    """Work as bytes, which a process unpacks once.

    Parameters
    ----------
    payload : bytes
        Bytes from `packed`.
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
        """The work; its functions are compiled once per process, because all tasks share the object."""
        if not self.large:
            return _opened(self.payload)
        if self._opened is None:  # two threads may do so at once: the second result is kept
            self._opened = pickle.loads(self.payload)
        return self._opened


@lru_cache(maxsize=8)
def _opened(payload: bytes) -> Work:
    work: Work = pickle.loads(payload)
    return work


def packed(work: Work) -> Parcel:
    """A parcel; raises pickle's errors if the work cannot be sent."""
    import cloudpickle

    try:
        with _by_value():
            return Parcel(cloudpickle.dumps(work))
    except Exception:  # a module with an unpicklable object, such as a lock: workers must have it
        return Parcel(cloudpickle.dumps(work))


@contextmanager
def _by_value() -> Iterator[None]:
    """Pickle functions and classes of modules that are not installed with their code."""
    registered: list[tuple[Any, Any]] = []
    with _registering:
        loaded = [module for module in list(sys.modules.values()) if isinstance(module, ModuleType)]
        own = [module for module in loaded if is_own_code(vars(module).get("__file__"))]  # loads no lazy one
        try:
            copies = ("cloudpickle", "numba.cloudpickle")  # Numba's has a list of its own
            for pickler in [sys.modules[name] for name in copies if name in sys.modules]:
                listed = pickler.list_registry_pickle_by_value()
                for module in own:  # a script is in there twice, also as `__mp_main__`
                    if module.__name__ in sys.modules and module.__name__ not in listed:
                        pickler.register_pickle_by_value(module)
                        listed.add(module.__name__)
                        registered.append((pickler, module))
            yield
        finally:
            for pickler, module in registered:
                pickler.unregister_pickle_by_value(module)
