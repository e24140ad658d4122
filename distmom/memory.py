"""The memory of a run, piece by piece: each package declares its own pieces, and the plan sums them.

Sizes known only once rows are read, such as the number of groups, cannot be planned. Code that is about to
allocate much more therefore first checks that the limit allows it (`look_ahead`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace

from distmom.stopping import check_stopped


@dataclass(frozen=True, slots=True)
class Held:
    """One piece of memory.

    Attributes
    ----------
    name : str
        Its name in messages and plans.
    n_bytes : float
    each : bool
        Whether every thread holds one; otherwise the process holds one.
    remedy : str
        How to reduce it.
    sure : bool
        If false, the piece may turn out smaller once rows are read; a run is not refused because of it.
    """

    name: str
    n_bytes: float
    each: bool = True
    remedy: str = ""
    sure: bool = True


@dataclass(frozen=True)
class Memory:
    """All pieces held at the same time.

    Attributes
    ----------
    pieces : tuple of Held
    at_once : int, optional
        Number of units of work: no more threads than this are busy.
    """

    pieces: tuple[Held, ...] = ()
    at_once: int | None = None

    def __add__(self, other: Memory) -> Memory:
        """Both, held at the same time."""
        few = [n for n in (self.at_once, other.at_once) if n is not None]
        return Memory(self.pieces + other.pieces, min(few) if few else None)

    def times(self, n: int, name: str) -> Memory:
        """`n` copies of this memory, under one name."""
        pieces = (replace(p, n_bytes=n * p.n_bytes) if p.name == name else p for p in self.pieces)
        return Memory(tuple(pieces), self.at_once)

    @property
    def sure(self) -> Memory:
        """The pieces that are certain to be held."""
        return Memory(tuple(piece for piece in self.pieces if piece.sure), self.at_once)

    def busy(self, threads: int) -> int:
        """How many of `threads` threads are busy."""
        return threads if self.at_once is None else min(threads, max(1, self.at_once))

    @property
    def of_thread(self) -> float:
        """Bytes held by every thread."""
        return sum(piece.n_bytes for piece in self.pieces if piece.each)

    @property
    def of_process(self) -> float:
        """Bytes held once per process."""
        return sum(piece.n_bytes for piece in self.pieces if not piece.each)

    def needed(self, threads: int) -> float:
        """Bytes needed by a process with `threads` threads."""
        return self.of_process + self.busy(threads) * self.of_thread

    def or_larger(self, other: Memory, threads: int) -> Memory:
        """The larger of two that are not held at the same time, for a process with `threads` threads."""
        return max(self, other, key=lambda memory: memory.needed(threads))

    def shares(self, threads: int) -> dict[str, float]:
        """Bytes of each piece in a process with `threads` threads, largest first."""
        found: dict[str, float] = {}
        threads = self.busy(threads)
        for piece in self.pieces:
            found[piece.name] = found.get(piece.name, 0.0) + piece.n_bytes * (threads if piece.each else 1)
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    def remedy(self, threads: int) -> str:
        """The remedy of the largest piece that has one."""
        most = max(
            (piece for piece in self.pieces if piece.remedy),
            key=lambda piece: piece.n_bytes * (threads if piece.each else 1),
            default=None,
        )
        return "use fewer columns or blocks" if most is None else most.remedy


_ALLOWED: ContextVar[float | None] = ContextVar("distmom_allowed", default=None)

Check = Callable[[float], None]
"""Raises ResourceError if the process cannot hold this many more bytes."""

_CHECK: ContextVar[Check | None] = ContextVar("distmom_check", default=None)

WORTH_A_LOOK = 1_000_000
"""Bytes; smaller allocations are noticed at the next check."""


@contextmanager
def allowed(n_bytes: float) -> Iterator[None]:
    """Allow `n_bytes` to the unit of work in this thread, for sizes known only from a file."""
    token = _ALLOWED.set(n_bytes)
    try:
        yield
    finally:
        _ALLOWED.reset(token)


def allowed_bytes() -> float | None:
    """Bytes that this thread may hold; None if no limit was set."""
    return _ALLOWED.get()


@contextmanager
def watched(check: Check | None) -> Iterator[None]:
    """Make `look_ahead` call `check` in this thread; None means no check."""
    token = _CHECK.set(check)
    try:
        yield
    finally:
        _CHECK.reset(token)


def look_ahead(n_bytes: float) -> None:
    """Check that `n_bytes` may be allocated now.

    Raises ResourceError if they exceed the limit, and Stopped if the run is over.
    """
    if n_bytes >= WORTH_A_LOOK and (check := _CHECK.get()) is not None:
        check_stopped()
        check(n_bytes)


def look_ahead_at(*states: object) -> None:
    """Check that as much memory as these states take may be allocated once more.

    Their sizes are summed only if there is a check; most runs have none.
    """
    if _CHECK.get() is not None:
        look_ahead(sum(getattr(state, "nbytes", 0) for state in states))
