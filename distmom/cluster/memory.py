"""Memory and processors: limits given as texts, what this process may use, and what a run will take."""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distmom.errors import ConfigError, ResourceError
from distmom.memory import Held, Memory

if TYPE_CHECKING:
    from distmom.cluster.outcome import Executor

PROGRAM, LEAST_TOLD, LEAST_OF_THREAD = "the program", 1_000_000, 20_000_000

logger = logging.getLogger("distmom")

PROCESS_BYTES = 240_000_000  # a worker with NumPy, PyArrow, Numba and Dask loaded, before any data
PLAIN_BYTES, COMPILED_BYTES = 135_000_000, 258_000_000  # a process with NumPy and PyArrow; and with Numba
_UNITS = {f"{unit}{i}": base**k for k, unit in enumerate("kmgt", 1) for i, base in (("", 1000), ("i", 1024))}


def parse_bytes(text: str | int | None, parameter: str = "memory_limit") -> int | None:
    """Bytes of ``400_000_000``, ``"400MB"``, ``"1.5 GiB"``; ``None`` stays ``None``.

    ConfigError if it is not a positive number of bytes.
    """
    if text is None:
        return None
    match = re.fullmatch(r"\s*([0-9.]+(?:e[0-9]+)?)\s*([kmgt]?i?)b?\s*", str(text).lower())
    factor = {"": 1, **_UNITS}.get(match[2]) if match else None
    try:
        n_bytes = int(float(match[1]) * factor) if match and factor else 0
    except ValueError:  # "1.2.3"
        n_bytes = 0
    if n_bytes <= 0:
        raise ConfigError(f"{parameter}: expected bytes such as 400000000, '400MB' or '2GiB', not {text!r}")
    return n_bytes


def in_words(n_bytes: float) -> str:
    """``1.2 GB``: three digits and a decimal unit."""
    for unit in ("B", "kB", "MB", "GB"):
        if abs(n_bytes) < 999.5:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.3g} TB"


def program(executor: Executor, *, compiled: bool = True) -> Memory:
    """The program and its libraries, before any data."""
    n_bytes = PROCESS_BYTES if executor.far else COMPILED_BYTES if compiled else PLAIN_BYTES
    return Memory((Held(PROGRAM, n_bytes, each=False),))


def thread_memory(executor: Executor, n_units: int | None = None) -> int:
    """Bytes available to each thread of a process, with this number of units of work.

    If the program may run without compiled kernels, only the certain part of its memory is subtracted.
    """
    threads = executor.threads_per_process
    busy = threads if n_units is None else max(1, min(threads, n_units))
    once = program(executor, compiled=n_units is None).of_process
    return max(int(executor.memory - once) // busy, LEAST_OF_THREAD if n_units is not None else 0)


def told_memory(memory: Memory, executor: Executor) -> dict[str, Any]:
    """A plan's report on its memory: the total of a process, and its parts, in words."""
    threads = executor.threads_per_process
    shares = {name: in_words(n) for name, n in memory.shares(threads).items() if n >= LEAST_TOLD}
    return {"projected_memory_per_process": in_words(memory.needed(threads)), "memory": shares}


def check_memory(memory: Memory, executor: Executor, worst: str, *, remedy: str | None = None) -> None:
    """Refuse a run that does not fit into a process, before anything is read.

    ResourceError, with the number of threads that would fit, if `memory` for the executor's threads exceeds
    its limit.

    Parameters
    ----------
    memory : Memory
        Everything held at the same time, including the program.
    executor : Executor
        With ``threads_per_process``, and ``memory``, the bytes that a process may use.
    worst : str
        Name of the largest unit (``Unit.name``).
    remedy : str, optional
        The remedy if not even one thread fits; by default that of the largest piece.
    """
    threads, limit, memory = executor.threads_per_process, executor.memory, memory.sure
    needed = memory.needed(threads)
    if needed <= limit:
        return
    each, once = memory.of_thread, memory.of_process
    fitting = int((limit - once) // each) if each > 0 else 0
    if fitting > 0:
        remedy = f"use {fitting} thread{'s' if fitting > 1 else ''} per process"
    largest = [name for name in memory.shares(threads) if name != PROGRAM][:1]
    most = f", most of it {largest[0]}" if largest else ""
    raise ResourceError(
        f"{worst}: projected memory {in_words(needed)} per process ({threads} x {in_words(each)} and "
        f"{in_words(once)} once{most}) exceeds the limit of {in_words(limit)}; "
        f"{remedy or memory.remedy(threads)}, or allow at least {in_words(needed)}"
    )


def give_back() -> None:
    """Return freed memory to the system, if its C library can; small objects would otherwise retain it."""
    import ctypes

    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):
        logger.debug("this system's C library has no malloc_trim")


CGROUP = Path("/sys/fs/cgroup")


def usable_cpus(cgroup: Path = CGROUP) -> int:
    """Processors this process may run on: its affinity, capped by a container's quota; at least 1."""
    count = getattr(os, "process_cpu_count", None)  # Python 3.13
    if count is not None:
        cpus = count() or 1
    elif hasattr(os, "sched_getaffinity"):
        cpus = len(os.sched_getaffinity(0))
    else:
        cpus = os.cpu_count() or 1
    quota = _words(cgroup / "cpu.max")  # "max 100000", or microseconds per period
    if len(quota) == 2 and quota[0].isdigit() and quota[1].isdigit() and int(quota[1]):
        cpus = min(cpus, -(-int(quota[0]) // int(quota[1])))
    return max(1, cpus)


def memory_bytes(cgroup: Path = CGROUP) -> int:
    """Memory of the machine in bytes, capped by a container's limit."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for name in ("memory.max", "memory/memory.limit_in_bytes"):  # version 2, version 1
        limit = _words(cgroup / name)
        if limit and limit[0].isdigit() and int(limit[0]):
            total = min(total, int(limit[0]))
    return total


def _words(path: Path) -> list[str]:
    try:
        return path.read_text().split()
    except OSError:
        return []
