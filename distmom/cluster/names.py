"""What tasks are called on a dashboard and in a performance report: "mean: read", "gini: sort"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_ASKED: ContextVar[str] = ContextVar("distmom_asked", default="distmom")


@contextmanager
def asked(what: str) -> Iterator[None]:
    """Tasks of runs inside are called so: by the function that was called, or the kernel it has."""
    before = _ASKED.set(what)
    try:
        yield
    finally:
        _ASKED.reset(before)


def task_name(work: Any) -> str:
    """What was asked, and the step that this work says to be.

    Dask takes a name up to its first dash for that of the group, and what follows a dash for numbers.
    """
    said = (_ASKED.get(), getattr(work, "step", "compute"))
    return ": ".join(" ".join(re.sub(r"\W", " ", word).split()) for word in said)
