"""How much the unit of work that runs in this thread may hold, for what only a file can tell."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_ALLOWED: ContextVar[float | None] = ContextVar("distmom_allowed", default=None)


@contextmanager
def allowed(n_bytes: float) -> Iterator[None]:
    """So many bytes, inside."""
    token = _ALLOWED.set(n_bytes)
    try:
        yield
    finally:
        _ALLOWED.reset(token)


def allowed_bytes() -> float | None:
    """Bytes that this thread may hold; None where nobody said."""
    return _ALLOWED.get()
