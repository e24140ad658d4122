"""A limit of address space (``ulimit -v``) that the libraries alone exceed gives one line, no crash."""

from __future__ import annotations

import os
from contextlib import suppress

from distmom.errors import ResourceError

LIBRARIES = 640_000_000
"""Bytes of addresses that a command reserves before it reads, with one thread of linear algebra. About 590
million were measured; with hardly more a library may end in an error of its own."""

EACH_THREAD = 64_000_000
"""For each further thread, which OpenBLAS starts when it is loaded: it retries for ever if it gets none."""


def refuse_too_little() -> None:
    """ResourceError if loading the libraries would crash or hang."""
    limit, needed = limit_here(), LIBRARIES + EACH_THREAD * (blas_threads() - 1)
    if limit is not None and limit < needed:
        raise ResourceError(
            f"the address space is limited to {limit / 1e6:,.0f} MB (ulimit -v), and the libraries reserve "
            f"about {needed / 1e6:,.0f} MB; raise that limit, and use --memory-limit instead"
        )


def limit_here() -> int | None:
    """Bytes; None without a limit, or on systems without such limits."""
    try:
        import resource
    except ImportError:
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit == resource.RLIM_INFINITY else limit


def blas_threads() -> int:
    """Threads that OpenBLAS will start: one for each processor, unless a variable says less."""
    try:
        n = len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        n = os.cpu_count() or 1
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        with suppress(KeyError, ValueError):
            return max(1, min(n, int(os.environ[name])))
    return n
