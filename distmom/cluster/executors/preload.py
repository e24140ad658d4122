"""Loaded first by our own worker processes: interrupts are handled by the process that started them.

A terminal sends Ctrl-C, and SIGHUP when it is closed, to every process of the group; the caller's process
stops its workers in order, and each would only print a traceback.
"""

from __future__ import annotations

import signal


def dask_setup(worker: object) -> None:
    """Called by Dask in the worker's main thread."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
