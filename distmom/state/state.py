"""Where a run keeps what it has done: the public class."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from distmom.checks import check_choice
from distmom.cluster.executors.machine import memory_bytes
from distmom.cluster.memory import parse_bytes
from distmom.errors import ConfigError
from distmom.state.file import check_state_path, read_state, write_state
from distmom.state.saved import Saved

ON_CHANGE = ("error", "restart")


@dataclass(frozen=True)
class State:
    """A file that keeps what a run has done, so that another run goes on from there.

    A run that was interrupted, even killed, goes on to the bits of an unbroken one; a mean over a lake that
    has grown reads the new files alone. It is accepted wherever ``state=`` is, and so is a bare path.

    Parameters
    ----------
    path : str or path
        The file, on a local or shared disk; its folder must exist. It need not exist itself.
    on_change : {"error", "restart"}
        What to do when files that it holds have changed or are gone: refuse to go on, or read everything
        again.

    Raises
    ------
    ConfigError
        If one of them is wrong.

    Examples
    --------
    >>> import distmom as dm
    >>> dm.State("runs/orders.state", on_change="restart")
    State(path='runs/orders.state', on_change='restart')
    """

    path: str | os.PathLike[str]
    on_change: str = "error"

    def __post_init__(self) -> None:
        text = os.fspath(self.path) if isinstance(self.path, (str, os.PathLike)) else None
        if not isinstance(text, str) or not text or "\0" in text:
            raise ConfigError(f"state: must be the path of a file, not {self.path!r}")
        object.__setattr__(self, "path", text)
        check_choice("on_change", self.on_change, ON_CHANGE)

    def __fspath__(self) -> str:
        return os.fspath(self.path)

    @classmethod
    def of(cls, state: str | os.PathLike[str] | State) -> State:
        """The state that a caller gave, as a path or as itself."""
        return state if isinstance(state, State) else cls(state)

    @property
    def file(self) -> Path:
        """The path, once it is known that a state can be written there.

        Raises
        ------
        ConfigError
            If it is a folder, or its folder does not exist or is not writable.
        """
        return check_state_path(self.path)

    @property
    def name(self) -> str:
        """How messages call it."""
        return f"state {str(Path(self.path).expanduser())!r}"

    def load(self, kind: str, memory_limit: int | str | None = None) -> Saved | None:
        """What is saved there; None if there is no file.

        Parameters
        ----------
        kind : str
            What job it must be of.
        memory_limit : int or str, optional
            Bytes that this process may use.

        Raises
        ------
        ConfigError
            If no state can be written there.
        DataError
            If it is damaged, or of another kind or version.
        ResourceError
            If it takes more than a third of the memory.
        """
        file = self.file
        if not file.exists():
            return None
        limit = parse_bytes(memory_limit) or memory_bytes()
        return Saved.of(read_state(file, limit // 3), kind, self.name)

    def save(self, saved: Saved) -> None:
        """Write it whole, or leave the file as it was.

        Raises
        ------
        ResourceError
            If the disk is full or the file cannot be written.
        """
        write_state(self.file, saved.container())
