"""The saved state of one run: what it goes on from, and when it is written."""

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
"""Between two checkpoints are at least so many times as many seconds as the last one took."""


class Content(NamedTuple):
    """What a job saves of itself."""

    files: tuple[FileRef, ...]
    facts: dict[str, Any]
    arrays: Mapping[str, Any]


class Checkpoint:
    """Reads the state of a run, compares it with what is asked now, and writes it once in a while.

    Parameters
    ----------
    kind : str
        What job it is of, such as ``"mean"``.
    memory_limit : int or str, optional
        Bytes that this process may use.

    Attributes
    ----------
    saved : Saved or None
        What the run goes on from.
    restarted : str or None
        How the lake has changed, where everything is done again because of that.
    """

    def __init__(self, state: State, kind: str, memory_limit: int | str | None = None) -> None:
        self.state = state
        self.kind = kind
        self.saved = state.load(kind, memory_limit)
        self.restarted: str | None = None
        self._fingerprint: Fingerprint | None = None
        self._due = monotonic() + state.checkpoint_seconds
        self._fresh = False  # whether there is anything that is not saved

    @property
    def name(self) -> str:
        """How messages call the state."""
        return self.state.name

    def seed(self, rng: Any) -> tuple[int, int | str]:
        """The seed and how it is shown: those of the state where none is given."""
        return resolve_seed(rng) if rng is not None or self.saved is None else self.saved.fingerprint.seed

    def check_source(self, data: Any, source: Source, remedy: str = "drop state") -> None:
        """ConfigError if `data` are no files, or the state would be taken for one of them."""
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
        """Compare with what the state was made of, before anything is read.

        ConfigError if it was made with other options; DataError if files have changed and the state is not to
        be begun anew.

        Parameters
        ----------
        files : sequence of FileRef
            The listing as it is now.
        fixed : Change, optional
            Why files cannot be added, as `change` takes it.
        known : iterable of FileRef, optional
            Files that the state depends on; by default all that it knows.
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
        """Compare once more, when it is known what the design comes to; ConfigError if that is another."""
        self._fingerprint = fingerprint
        if self.saved is not None and self.saved.fingerprint.sums != fingerprint.sums:
            check_same(self.name, self.saved.fingerprint, fingerprint)

    def save(self, content: Content | None) -> None:
        """Write the state as it is now; nothing if that is None, between two that can be continued.

        ResourceError if it cannot be written; the file is then as it was.
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
        """A block that does the work; gives what is to be called after each step of it.

        The state is saved every so many seconds, and if an error or an interrupt ends the block and there is
        anything new (`fresh`: from the beginning). That the state cannot be saved then is only logged: the
        error that ends the run matters more. What is there at the end is for the caller to `save`.
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
        """Save where an error ends the work, and say so only if there was something to save."""
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
    """The checkpoint of a run that has a state, which may be damaged or of another kind; see `Checkpoint`."""
    return None if state is None else Checkpoint(State.of(state), kind, memory_limit)
