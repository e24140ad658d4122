"""Which kernels to call: NumPy twins do the first work on a machine, while compiling would take longer.

Both give the same bits, so work may switch at any call. A kernel that is kept on disk is called at once.
Another one is compiled once its twin has spent about as much time as compiling takes. The work of twins is
recorded beside the kernels, so that many short runs count like one long run.
"""

from __future__ import annotations

import atexit
import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from threading import Lock
from time import monotonic, sleep

from distmom.numerics.kernel_folder import kernel_folder

NOTES, LOCK = "twins.json", "compiling"
PATIENCE, PAUSE = 30.0, 0.05
"""Seconds to wait for another process that compiles, and between two checks."""


class Readiness:
    """Readiness of the kernels of one process."""

    def __init__(self) -> None:
        self.twins_first = True
        self.n_compiling = 0
        self._ready: set[str] = set()
        self._pays: dict[str, float] = {}
        self._done: dict[str, float] = {}
        self._lock = Lock()

    def ready(self, module: str, kernel: str, n: int) -> bool:
        """Whether to call a kernel for `n` rows or cells; else they count as work of its twin."""
        name = f"{module}.{kernel}"
        if name in self._ready or not self.twins_first:
            return True
        with self._lock:
            if name not in self._pays:
                self._begin(name, module, kernel)
            self._done[name] += n
            if self._done[name] < self._pays[name]:
                return False
            self._ready.add(name)
        return True

    def _begin(self, name: str, module: str, kernel: str) -> None:
        from distmom.numerics._jit import is_kept, pays_from

        if not self._pays:
            atexit.register(self.note)
        found = getattr(import_module(module), kernel)
        self._pays[name] = 0 if is_kept(found) else pays_from(found)
        self._done[name] = _noted().get(name, 0) if self._pays[name] else 0

    def note(self) -> None:
        """Record the work of twins for later runs."""
        folder = kernel_folder()
        new = {name: done for name, done in self._done.items() if name not in self._ready}
        if folder is None or not new:
            return
        with suppress(OSError):
            copy = folder / f"{NOTES}.{os.getpid()}"
            copy.write_text(json.dumps(_noted() | new), "utf-8")
            copy.replace(folder / NOTES)


def _noted() -> dict[str, float]:
    folder = kernel_folder()
    with suppress(OSError, ValueError):
        found = {} if folder is None else json.loads((folder / NOTES).read_text("utf-8"))
        return {name: float(done) for name, done in found.items()}
    return {}


@contextmanager
def alone() -> Iterator[None]:
    """Let the processes of a machine compile in turn: all but the first find its kept kernels."""
    with ExitStack() as held:
        with suppress(OSError, ImportError):  # only for the lock: the work itself may raise its own errors
            _wait_for_lock(held)
        yield


def _wait_for_lock(held: ExitStack) -> None:
    import fcntl

    folder, until = kernel_folder(), monotonic() + PATIENCE
    if folder is None:
        return
    handle = held.enter_context((folder / LOCK).open("wb"))
    while monotonic() < until:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        sleep(PAUSE)


READINESS = Readiness()
