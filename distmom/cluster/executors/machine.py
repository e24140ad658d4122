"""How many processors and how much memory this process may use, containers included."""

from __future__ import annotations

import os
from pathlib import Path

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
