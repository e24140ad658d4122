"""The file in which a run saves its progress: the public class."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from distmom.checks import check_choice, check_positive
from distmom.cluster.memory import memory_bytes, parse_bytes
from distmom.errors import ConfigError, DataError, ResourceError
from distmom.lake.files.atomic import atomic_file
from distmom.lake.files.outputs import refuse_overwritten
from distmom.lake.files.stores import address_of
from distmom.state.container import Container, read_container, write_container
from distmom.state.saved import Saved

ON_CHANGE = ("error", "restart")


@dataclass(frozen=True)
class State:
    """A file that keeps the progress of a run, so that another run can continue from there.

    An interrupted or killed run continues and gives bit-for-bit the result of an uninterrupted one; a mean
    over a lake that has grown reads only the new files. Functions with ``state=`` accept it, and also a plain
    path.

    Parameters
    ----------
    path : str or path
        The file, on a local or shared disk. Its folder must exist, the file need not.
    on_change : {"error", "restart"}
        What to do if files in the state have changed or are missing: fail, or read everything again.
    checkpoint_seconds : float
        Time between checkpoints; they are less frequent if saving takes more than a twentieth of it. The
        final state is always saved.

    Raises
    ------
    ConfigError
        If a parameter is wrong.

    Examples
    --------
    >>> import distmom as dm
    >>> dm.State("runs/orders.state", on_change="restart")
    State(path='runs/orders.state', on_change='restart', checkpoint_seconds=30.0)
    """

    path: str | os.PathLike[str]
    on_change: str = "error"
    checkpoint_seconds: float = 30.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", _path_text(self.path, "state"))
        check_choice("on_change", self.on_change, ON_CHANGE)
        check_positive("checkpoint_seconds", self.checkpoint_seconds, zero=True)

    def __fspath__(self) -> str:
        return os.fspath(self.path)

    @classmethod
    def of(cls, state: str | os.PathLike[str] | State) -> State:
        """The state given by a caller, as a path or a `State`."""
        return state if isinstance(state, State) else cls(state)

    @property
    def file(self) -> Path:
        """The path, after a check that a state can be written there.

        Raises
        ------
        ConfigError
            If it is a folder, or its folder does not exist or is not writable.
        """
        return check_state_path(self.path)

    @property
    def name(self) -> str:
        """Its name in messages."""
        return f"state {str(Path(self.path).expanduser())!r}"

    def load(self, kind: str, memory_limit: int | str | None = None) -> Saved | None:
        """The saved state; None if there is no file.

        Parameters
        ----------
        kind : str
            Required kind of job.
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
        """Write it completely, or leave the file unchanged.

        Raises
        ------
        ResourceError
            If the disk is full or the file cannot be written.
        """
        write_state(self.file, saved.container())


def _path_text(path: Any, parameter: str) -> str:
    text = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    if not isinstance(text, str) or not text or "\0" in text:
        raise ConfigError(f"{parameter}: must be the path of a file, not {path!r}")
    return text


def check_state_path(path: str | os.PathLike[str], parameter: str = "state") -> Path:
    """The path, after a check that a state can be written there; call this before long work.

    ConfigError if it is empty or a folder, or its folder does not exist or is not writable.
    """
    text = _path_text(path, parameter)
    if address_of(text) is not None:
        raise ConfigError(
            f"{parameter} {text!r}: must be a file on a local or shared disk; the data may be remote"
        )
    target = Path(text).expanduser()
    if target.is_dir():
        raise ConfigError(f"{parameter} {text!r}: a folder of that name exists; name a file")
    folder = target.parent
    if not folder.is_dir():
        raise ConfigError(f"{parameter} {text!r}: there is no folder {str(folder)!r}; create it first")
    if not os.access(folder, os.W_OK):
        raise ConfigError(f"{parameter} {text!r}: the folder {str(folder)!r} is not writable; choose another")
    refuse_overwritten(target, f"{parameter} {text!r}")
    return target


def read_state(path: Path, most_bytes: int | None = None) -> Container:
    """Read a saved state.

    DataError if there is none, or it is damaged; no part of a damaged state is used; ResourceError if the
    file is larger than `most_bytes`.
    """
    refuse_overwritten(path, f"state {str(path)!r}")
    try:
        size = path.stat().st_size
        if most_bytes is not None and size > most_bytes:
            raise ResourceError(
                f"state {str(path)!r} has {size / 1e6:,.0f} MB, more than the {most_bytes / 1e6:,.0f} MB "
                "allowed for it; allow more memory (memory_limit), or group by fewer values"
            )
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"state {str(path)!r} cannot be read: {error.strerror or error}") from error
    return read_container(data, f"state {str(path)!r}")


def write_state(path: Path, container: Container) -> None:
    """Write a state completely, or leave the file unchanged.

    ResourceError if the disk is full or the file cannot be written.
    """
    try:
        with atomic_file(path) as temporary, temporary.open("wb") as file:
            write_container(container, cast(BinaryIO, file))
    except OSError as error:
        reason = error.strerror or str(error).partition("\n")[0]
        raise ResourceError(
            f"state {str(path)!r} could not be written: {reason}; the file is as it was before"
        ) from error
