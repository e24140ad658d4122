"""Folders of temporary files, of which can be told whether the run that made them still lives.

Each holds a file that its run keeps locked. However a run ends, also by SIGKILL, the system opens the lock.
So a folder is removed by others if its lock can be had and its run was on this machine: on a disk that
several machines share, locks of others may not be seen.
"""

from __future__ import annotations

import json
import logging
import os
import platform
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from stat import S_ISDIR
from time import sleep
from typing import NamedTuple

from distmom.errors import ResourceError

try:
    import fcntl
except ImportError:  # not on Windows, where nothing is removed
    fcntl = None  # type: ignore[assignment]

logger = logging.getLogger("distmom")

PREFIX = ".distmom-"
OWNER = "owner.json"
PAUSES = (0.0, 0.1, 0.5, 2.0)
"""Seconds before further attempts at removing a folder, into which a unit given up may just have written."""


class OwnFolder:
    """A new folder in `parent`, marked as that of a run that lives; those of dead runs beside it are removed.

    OSError if it cannot be made.
    """

    def __init__(self, parent: Path) -> None:
        for left in remove_leftovers(parent):
            if left.fate == "removed":
                logger.warning("removed %s (%s), left by a run that was killed", left.path, left.size)
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
        self._lock: int | None = _marked(self.path)

    @classmethod
    def of_scratch(cls, parent: Path) -> OwnFolder:
        """The same; ResourceError if it cannot be made."""
        try:
            return cls(parent)
        except OSError as error:
            raise _cannot_be_made(parent, error) from error

    def hold_on(self) -> None:
        """Let nobody else remove it from now on: it has what is nowhere else."""
        (self.path / OWNER).unlink(missing_ok=True)

    def close(self) -> None:
        """Remove it and all that is in it. Idempotent."""
        if self._lock is not None:
            remove_folder(self.path)
            os.close(self._lock)
            self._lock = None


class Leftover(NamedTuple):
    """A folder that was found."""

    path: Path
    fate: str  # "removed", "in use", "of HOST" or "could not be removed"
    size: str = ""


def remove_leftovers(parent: Path) -> list[Leftover]:
    """Remove the folders in `parent` whose runs were on this machine and are dead; all that were found.

    Folders of other users, and what only has such a name, are passed over.
    """
    names: list[str] = []
    with suppress(OSError), os.scandir(parent) as entries:
        names = sorted(entry.name for entry in entries if entry.name.startswith(PREFIX))
    return [left for name in names if (left := _looked_at(parent / name)) is not None]


def _looked_at(folder: Path) -> Leftover | None:
    if fcntl is None or not _is_ours(folder):
        return None
    with suppress(OSError), _opened(folder / OWNER) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return Leftover(folder, "in use")
        try:
            owner = json.loads(os.read(lock, 10_000))
            host, here = str(owner["host"]), _is_here(owner)
        except (ValueError, KeyError, TypeError):  # not a run's, or one that is about to begin
            return None
        if not here:
            return Leftover(folder, f"of {host}")
        size = f"{sum(file.lstat().st_size for file in folder.rglob('*')) / 1e6:,.3g} MB"
        _empty(folder)
        return Leftover(folder, "could not be removed" if folder.exists() else "removed", size)
    return None


def _is_ours(folder: Path) -> bool:
    with suppress(OSError):
        found = folder.lstat()
        return S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
    return False


@contextmanager
def _opened(file: Path) -> Iterator[int]:
    handle = os.open(file, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield handle
    finally:
        os.close(handle)


def _marked(folder: Path) -> int:
    """The handle that holds the lock. Where none can be had, the folder is never removed by others."""
    handle = os.open(folder / OWNER, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    if fcntl is not None:
        with suppress(OSError):  # a disk without locks, or a full one
            fcntl.flock(handle, fcntl.LOCK_EX)
            # only then: who gets the lock and reads this knows that the run is dead
            os.write(handle, json.dumps({**_machine(), "pid": os.getpid()}).encode())
    return handle


@cache
def _machine() -> dict[str, str]:
    """What tells this machine from others, and its time since it was started from those before."""

    def text(file: str) -> str:
        with suppress(OSError):
            return Path(file).read_text("ascii", "replace").strip()
        return ""

    return {
        "host": platform.node(),
        "machine": text("/etc/machine-id"),
        "boot": text("/proc/sys/kernel/random/boot_id"),
    }


def _is_here(owner: dict[str, str]) -> bool:
    """Whether a run was on this machine: since it was started, also in another container, or before."""
    ours = _machine()
    if ours["boot"] and owner["boot"] == ours["boot"]:
        return True
    return bool(ours["machine"]) and all(owner[name] == ours[name] for name in ("machine", "host"))


def make_folder(parent: Path, prefix: str) -> Path:
    """A new folder with a name of its own. ResourceError if it cannot be made."""
    try:
        return Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    except OSError as error:
        raise _cannot_be_made(parent, error) from error


def _cannot_be_made(parent: Path, error: OSError) -> ResourceError:
    return ResourceError(
        f"{parent}: no temporary folder can be made there ({error.strerror}); "
        "name a folder that you may write to as scratch"
    )


def remove_folder(folder: Path) -> None:
    """Remove a folder and all that is in it; a warning tells if that is not possible."""
    for pause in PAUSES:
        sleep(pause)
        _empty(folder)
        if not folder.exists():
            return
    logger.warning("%s could not be removed", folder)


def _empty(folder: Path) -> None:
    """Remove a folder, its mark last: what stays until then is still known as a run's."""
    with suppress(OSError):
        for path in folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != OWNER:
                path.unlink(missing_ok=True)
        if [path.name for path in folder.iterdir()] in ([], [OWNER]):
            shutil.rmtree(folder, ignore_errors=True)
