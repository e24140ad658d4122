"""Defaults of a session: what every call takes that does not say otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import Any

from distmom.checks import check_fraction, did_you_mean
from distmom.cluster import make_progress, progress_where_seen
from distmom.cluster.executors.backends import as_backend
from distmom.errors import ConfigError
from distmom.keywords import PLACES

NAMES = ("confidence_level", "rng", "executor", "progress", "warn")

_DEFAULTS: ContextVar[Mapping[str, Any]] = ContextVar("distmom_options", default={})  # noqa: B039  # never changed


_UNSAID = object()


class Options:
    """Defaults for all calls, from now on or in a ``with`` block; made by `distmom.options`."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._before = _DEFAULTS.get()
        _DEFAULTS.set({**self._before, **given})

    def __enter__(self) -> Options:
        """Nothing: the defaults hold already."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """The defaults of before."""
        _DEFAULTS.set(self._before)

    def __repr__(self) -> str:
        """What holds now."""
        return f"options({', '.join(f'{name}={value!r}' for name, value in _DEFAULTS.get().items())})"


def options(**defaults: Any) -> Options:
    """Set defaults for all calls: for the session, or for a ``with`` block.

    Parameters
    ----------
    confidence_level : float
        In (0, 1).
    rng : int, SeedSequence, Generator or None
        As for `distmom.mean`.
    executor : None, Threads, Processes, Cluster, client or address
        Where calls run.
    progress : bool or object
        True shows a bar on a terminal or below a notebook's cell, and writes a log line per minute elsewhere;
        False shows nothing; or an object with ``begin``, ``advance``, ``end``. By default calls of more than
        two seconds show a bar on a terminal or in a notebook.
    warn : bool
        Whether a doubtful result warns (`DoubtfulResultWarning`).

    Returns
    -------
    Options
        A context manager; without ``with`` the defaults stay.

    Raises
    ------
    ConfigError
        If a name is no option, or a value is out of range.

    Notes
    -----
    The defaults hold in this thread or asyncio task, as `contextvars` do.

    Examples
    --------
    >>> import numpy as np
    >>> import distmom as dm
    >>> with dm.options(rng=0, confidence_level=0.95):
    ...     found = dm.mean(np.arange(1000.0))
    >>> found.confidence_level
    0.95
    """
    for name in defaults:
        if name not in NAMES:
            place = PLACES.get(name, "").partition("=")[0]
            hint = f"; did you mean {place!r}?" if place in NAMES else did_you_mean(name, NAMES)
            raise ConfigError(f"options: no option is called {name!r}; there are {', '.join(NAMES)}{hint}")
    if "confidence_level" in defaults:
        check_fraction("confidence_level", defaults["confidence_level"], 1.0, "such as 0.99")
    if "executor" in defaults:
        as_backend(defaults["executor"])
    return Options(defaults)


def defaults_for(names: Mapping[str, Any]) -> dict[str, Any]:
    """The session's defaults among these parameters."""
    return {name: value for name, value in _DEFAULTS.get().items() if name in names}


def warns() -> bool:
    """Whether doubtful results warn."""
    return bool(_DEFAULTS.get().get("warn", True))


@contextmanager
def quietly() -> Iterator[None]:
    """Calls of our own inside of a call: what they find is the outer call's to tell."""
    token = _DEFAULTS.set({**_DEFAULTS.get(), "warn": False})
    try:
        yield
    finally:
        _DEFAULTS.reset(token)


def progress_of_session() -> Any:
    """The progress that calls report to, or None."""
    wanted = _DEFAULTS.get().get("progress", _UNSAID)
    if wanted is _UNSAID:
        return progress_where_seen()
    if wanted is True:
        return make_progress()
    return wanted or None
