"""Saved states as files: checked before they are believed, replaced as a whole."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO, cast

from distmom.errors import ConfigError, DataError, ResourceError
from distmom.lake.files.atomic import atomic_file
from distmom.lake.files.stores import address_of
from distmom.state.container import Container, read_container, write_container


def check_state_path(path: str | os.PathLike[str], parameter: str = "state") -> Path:
    """The path, once it is known that a state can be written there: call it before long work.

    Raises
    ------
    ConfigError
        If it is empty or a folder, or its folder does not exist or is not writable.
    """
    text = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    if not isinstance(text, str) or not text or "\0" in text:
        raise ConfigError(f"{parameter}: must be the path of a file, not {path!r}")
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
    return target


def read_state(path: Path, most_bytes: int | None = None) -> Container:
    """A saved state.

    Raises
    ------
    DataError
        If there is none, or it is damaged; nothing of a damaged state is used.
    ResourceError
        If the file is larger than `most_bytes`.
    """
    try:
        size = path.stat().st_size
        if most_bytes is not None and size > most_bytes:
            raise ResourceError(
                f"state {str(path)!r} has {size / 1e6:,.0f} MB, more than the {most_bytes / 1e6:,.0f} MB "
                "that may be used for it; allow more memory (memory_limit), or group by fewer values"
            )
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"state {str(path)!r} cannot be read: {error.strerror or error}") from error
    return read_container(data, f"state {str(path)!r}")


def write_state(path: Path, container: Container) -> None:
    """Write a state whole, or leave the file as it was.

    Raises
    ------
    ResourceError
        If the disk is full or the file cannot be written.
    """
    try:
        with atomic_file(path) as temporary, temporary.open("wb") as file:
            write_container(container, cast(BinaryIO, file))
    except OSError as error:
        reason = error.strerror or str(error).partition("\n")[0]
        raise ResourceError(
            f"state {str(path)!r} could not be written: {reason}; the file is as it was before"
        ) from error
