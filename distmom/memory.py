"""The memory of a run, piece by piece: each room declares its own, the plan sums them.

What only the rows tell, such as how many groups there are, is not planned. So who is about to take much more
asks before whether the limit bears it (`look_ahead`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace

from distmom.stopping import check_stopped


@dataclass(frozen=True, slots=True)
class Held:
    """One thing that is held.

    Attributes
    ----------
    name : str
        Its name in messages and plans.
    n_bytes : float
    each : bool
        Every thread holds one; otherwise the process does.
    remedy : str
        What makes it smaller.
    sure : bool
        If not, there may be less, which is known only once rows are read; nothing is refused because of it.
    """

    name: str
    n_bytes: float
    each: bool = True
    remedy: str = ""
    sure: bool = True


@dataclass(frozen=True)
class Memory:
    """All that is held at the same time.

    Attributes
    ----------
    pieces : tuple of Held
    at_once : int, optional
        Units of work that there are: no more threads are at work then.
    """

    pieces: tuple[Held, ...] = ()
    at_once: int | None = None

    def __add__(self, other: Memory) -> Memory:
        """Both at once."""
        few = [n for n in (self.at_once, other.at_once) if n is not None]
        return Memory(self.pieces + other.pieces, min(few) if few else None)

    def times(self, n: int, name: str) -> Memory:
        """The same with so many of a piece."""
        pieces = (replace(p, n_bytes=n * p.n_bytes) if p.name == name else p for p in self.pieces)
        return Memory(tuple(pieces), self.at_once)

    @property
    def sure(self) -> Memory:
        """What is held in any case."""
        return Memory(tuple(piece for piece in self.pieces if piece.sure), self.at_once)

    def busy(self, threads: int) -> int:
        """Threads of so many that are at work."""
        return threads if self.at_once is None else min(threads, max(1, self.at_once))

    @property
    def of_thread(self) -> float:
        """Bytes that every thread holds."""
        return sum(piece.n_bytes for piece in self.pieces if piece.each)

    @property
    def of_process(self) -> float:
        """Bytes that a process holds once."""
        return sum(piece.n_bytes for piece in self.pieces if not piece.each)

    def needed(self, threads: int) -> float:
        """Bytes of a process of so many threads."""
        return self.of_process + self.busy(threads) * self.of_thread

    def or_larger(self, other: Memory, threads: int) -> Memory:
        """Of two that are not held at the same time, the one of which such a process needs more."""
        return max(self, other, key=lambda memory: memory.needed(threads))

    def shares(self, threads: int) -> dict[str, float]:
        """Bytes of each piece in such a process, the largest first."""
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
"""Raises ResourceError where the process cannot hold so many bytes more."""

_CHECK: ContextVar[Check | None] = ContextVar("distmom_check", default=None)

WORTH_A_LOOK = 1_000_000
"""Bytes: what takes less is seen by the next who looks."""


@contextmanager
def allowed(n_bytes: float) -> Iterator[None]:
    """So many bytes for the unit of work that runs in this thread, for what only a file can tell."""
    token = _ALLOWED.set(n_bytes)
    try:
        yield
    finally:
        _ALLOWED.reset(token)


def allowed_bytes() -> float | None:
    """Bytes that this thread may hold; None where nobody said."""
    return _ALLOWED.get()


@contextmanager
def watched(check: Check | None) -> Iterator[None]:
    """Have `look_ahead` ask `check` in this thread; nobody where it is None."""
    token = _CHECK.set(check)
    try:
        yield
    finally:
        _CHECK.reset(token)


def look_ahead(n_bytes: float) -> None:
    """Ask whether so many bytes may be taken now.

    ResourceError if the limit does not bear them; Stopped if the run is over.
    """
    if n_bytes >= WORTH_A_LOOK and (check := _CHECK.get()) is not None:
        check_stopped()
        check(n_bytes)
