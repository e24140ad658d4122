"""Where a run happens; and the same place imagined, for who only wants to know the plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from distmom.cluster import ThreadExecutor, connect, parse_bytes
from distmom.estimators.options import check_count

if TYPE_CHECKING:
    from distmom.cluster import Executor


class Place(NamedTuple):
    """The first arguments of `connect`."""

    client: Any
    workers: int | None
    scheduler: str | None
    threads: int | None


def place_of(
    in_memory: bool, client: Any, workers: int | None, scheduler: str | None, threads: int | None
) -> Place:
    """The place that was asked for; data in memory stays in this process, also beside an active client."""
    if not in_memory:
        return Place(client, workers, scheduler, threads)
    from distmom.cluster.executors.machine import usable_cpus

    return Place(None, None, None, usable_cpus() if threads is None else threads)


@contextmanager
def imagined_place(wanted: Mapping[str, Any], *, in_memory: bool) -> Iterator[Executor]:
    """An executor as a run with these arguments would have it; worker processes are imagined, not started."""
    names = ("client", "workers", "scheduler", "threads")
    place, limit = place_of(in_memory, *(wanted[name] for name in names)), wanted["memory_limit"]
    if place.workers is None or place != Place(None, place.workers, None, None):
        with connect(*place, limit, scratch=wanted.get("scratch")) as executor:
            yield executor
        return
    check_count("workers", place.workers)
    from distmom.cluster.executors.machine import memory_bytes, usable_cpus
    from distmom.cluster.scratch import Scratch

    imagined = ThreadExecutor(place.workers, parse_bytes(limit) or memory_bytes() // usable_cpus())
    imagined.threads_per_process = 1
    imagined.scratch = Scratch(wanted.get("scratch"))
    try:
        yield imagined
    finally:
        imagined.close()
