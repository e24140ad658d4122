"""Names of tasks on a dashboard and in a performance report: "mean: read", "gini: sort"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_ASKED: ContextVar[str] = ContextVar("distmom_asked", default="distmom")


@contextmanager
def asked(what: str) -> Iterator[None]:
    """Name the tasks of runs in this block, by the called function or its kernel."""
    before = _ASKED.set(what)
    try:
        yield
    finally:
        _ASKED.reset(before)


def task_name(work: Any) -> str:
    """What was asked for, and the step that this work reports.

    Dask takes a name up to its first dash as the name of the group, and what follows a dash as numbers.
    """
    said = (_ASKED.get(), getattr(work, "step", "compute"))
    return ": ".join(" ".join(re.sub(r"\W", " ", word).split()) for word in said)
