"""Memory and processors: limits given in words, what this process may use, and what a run will take."""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path

from distmom.errors import ConfigError, ResourceError

logger = logging.getLogger("distmom")

PROCESS_BYTES = 240_000_000  # a worker with NumPy, PyArrow, Numba and Dask loaded, before any data
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


def check_memory(
    per_unit_bytes: float,
    threads: int,
    limit: int,
    worst: str,
    *,
    base_bytes: int = PROCESS_BYTES,
    remedy: str = "use fewer columns or blocks",
) -> None:
    """Refuse a run whose units do not fit into a process, before anything is read.

    ResourceError, which says how many threads would fit, if ``base_bytes + threads * per_unit_bytes`` exceeds
    ``limit``.

    Parameters
    ----------
    per_unit_bytes : float
        Projected bytes of the largest unit while it runs: its batches and its state.
    threads : int
        Units that run at the same time in one process (``Executor.threads_per_process``).
    limit : int
        Bytes a process may use (``Executor.memory``).
    worst : str
        Name of the largest unit (``Unit.name``).
    base_bytes : int
        What a process needs before any data.
    remedy : str
        Where not even one thread fits.
    """
    needed = base_bytes + threads * per_unit_bytes
    if needed <= limit:
        return
    fitting = int((limit - base_bytes) // per_unit_bytes) if per_unit_bytes > 0 else 0
    plural = "s" if fitting > 1 else ""
    if fitting > 0:
        remedy = f"use {fitting} thread{plural} per process"
    raise ResourceError(
        f"{worst}: projected memory {in_words(needed)} per process ({threads} x {in_words(per_unit_bytes)} "
        f"and {in_words(base_bytes)} for the program) exceeds the limit of {in_words(limit)}; "
        f"{remedy}, or allow at least {in_words(needed)}"
    )


def give_back() -> None:
    """Give freed memory back to the system, where its C library can: small objects among it hold it else."""
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
