"""The saved state of one run: where it continues from, and when it is written."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from distmom.errors import ConfigError, DataError, DistmomError
from distmom.lake import Lake
from distmom.lake.files.outputs import refuse_output
from distmom.numerics.random.philox import resolve_seed
from distmom.state.fingerprint import Fingerprint, check_same
from distmom.state.saved import Change, Saved, change
from distmom.state.state import State

if TYPE_CHECKING:
    from distmom.lake import FileRef, Source

logger = logging.getLogger("distmom")

REST = 20.0
"""Least time between two checkpoints, as a multiple of the time that the last one took."""


class Content(NamedTuple):
    """The content that a job saves."""

    files: tuple[FileRef, ...]
    facts: dict[str, Any]
    arrays: Mapping[str, Any]


class Checkpoint:
    """Reads the state of a run, compares it with the present request, and writes it now and then.

    Parameters
    ----------
    kind : str
        Kind of job, such as ``"mean"``.
    memory_limit : int or str, optional
        Bytes that this process may use.

    Attributes
    ----------
    saved : Saved or None
        The state from which the run continues.
    restarted : str or None
        How the lake has changed, if everything is done again because of it.
    """

    def __init__(self, state: State, kind: str, memory_limit: int | str | None = None) -> None:
        self.state = state
        self.kind = kind
        self.saved = state.load(kind, memory_limit)
        self.restarted: str | None = None
        self._fingerprint: Fingerprint | None = None
        self._due = monotonic() + state.checkpoint_seconds
        self._fresh = False  # whether there is anything unsaved

    @property
    def name(self) -> str:
        """The name of the state in messages."""
        return self.state.name

    def seed(self, rng: Any) -> tuple[int, int | str]:
        """The seed and its printed form; those of the state if none is given."""
        return resolve_seed(rng) if rng is not None or self.saved is None else self.saved.fingerprint.seed

    def check_source(self, data: Any, source: Source, remedy: str = "drop state") -> None:
        """Raise ConfigError if `data` are not files, or the state would be read as one of them."""
        if not isinstance(source, Lake):
            raise ConfigError(
                "state: data in memory, streams and frames have no files that distinguish old rows from new "
                f"ones; {remedy}"
            )
        refuse_output(data, source, self.state.file, self.name)

    def begin(
        self,
        fingerprint: Fingerprint,
        files: Sequence[FileRef],
        fixed: Change | None = None,
        *,
        known: Iterable[FileRef] | None = None,
        design: bool = True,
    ) -> None:
        """Compare with the fingerprint of the state, before anything is read.

        ConfigError if it was made with other options; DataError if files have changed and the state is not to
        be restarted.

        Parameters
        ----------
        files : sequence of FileRef
            The present listing.
        fixed : Change, optional
            Why files cannot be added, passed to `change`.
        known : iterable of FileRef, optional
            Files on which the state depends; by default all that it knows.
        design : bool
            Whether the designs must be the same too.
        """
        self._fingerprint = fingerprint
        if self.saved is None:
            return
        check_same(self.name, self.saved.fingerprint, fingerprint, design=design)
        found = change(self.saved.files if known is None else known, files, fixed)
        if found is None:
            return
        if self.state.on_change != "restart":
            raise DataError(f"{self.name}: {found.text}; use State(path, on_change='restart') {found.remedy}")
        logger.warning("%s: %s; everything is read again", self.name, found.text)
        self.saved, self.restarted = None, found.text

    def check(self, fingerprint: Fingerprint) -> None:
        """Compare again once the resulting sums are known; ConfigError if they differ."""
        self._fingerprint = fingerprint
        if self.saved is not None and self.saved.fingerprint.sums != fingerprint.sums:
            check_same(self.name, self.saved.fingerprint, fingerprint)

    def save(self, content: Content | None) -> None:
        """Write the present state; do nothing if it is None, between two that can be continued.

        ResourceError if it cannot be written; the file is then unchanged.
        """
        if content is None:
            return
        assert self._fingerprint is not None
        started = monotonic()
        self.state.save(Saved(self.kind, self._fingerprint, *content))
        took = monotonic() - started
        self._due = monotonic() + max(self.state.checkpoint_seconds, REST * took)
        self._fresh = False

    @contextmanager
    def keeping(
        self, content: Callable[[], Content | None], *, fresh: bool = False
    ) -> Iterator[Callable[[], None]]:
        """Context of the work; yields a function to call after each step.

        The state is saved at regular intervals, and if an error or an interrupt ends the block and there is
        anything new (`fresh`: from the beginning). A failure to save it then is only logged: the error that
        ends the run matters more. The caller has to `save` the final state.
        """
        self._fresh = fresh

        def note() -> None:
            self._fresh = True
            if monotonic() >= self._due:
                self.save(content())

        try:
            yield note
        except BaseException:
            if self._fresh:
                self._save_on_the_way_out(content)
            raise

    def _save_on_the_way_out(self, content: Callable[[], Content | None]) -> None:
        """Save after an error has ended the work, and report it only if there was something to save."""
        try:
            self.save(content())
        except DistmomError as error:
            logger.warning("%s", error)
            return
        if not self._fresh:
            logger.info("%s: progress is saved; run the same command to resume", self.name)


def open_checkpoint(
    state: str | os.PathLike[str] | None, kind: str, memory_limit: int | str | None = None
) -> Checkpoint | None:
    """The checkpoint of a run with a state, which may be damaged or of another kind; see `Checkpoint`."""
    return None if state is None else Checkpoint(State.of(state), kind, memory_limit)
