"""Where compiled kernels are kept: one folder for all processes of a user on a machine."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

BEFOREHAND = "DISTMOM_KERNELS"
"""Environment variable: a folder, possibly read-only, of kernels that were compiled for an image."""

BESIDE = Path(__file__).parent / "__pycache__"
"""Name that stands for the folder beside each module of kernels, where Numba keeps them by default."""

COPIED = "copied"
"""Name of the file that marks those kernels as copied."""


@cache
def kernel_folder() -> Path | None:
    """The first writable folder; None if there is none.

    The order is Numba's own: ``NUMBA_CACHE_DIR``, then beside the modules. After these come the user's cache,
    if the user has a home, and last the folder for temporary files.
    """
    given = os.environ.get("NUMBA_CACHE_DIR")
    if given:
        folder = Path(given)
        return _with_copies(folder) if _writable(folder) else None
    if _writable(BESIDE):
        return BESIDE
    return next(map(_with_copies, filter(_usable, _candidates())), None)


def _candidates() -> Iterator[Path]:
    given = os.environ.get("XDG_CACHE_HOME")
    with suppress(RuntimeError):  # a user unknown to the machine has no home
        yield (Path(given) if given else Path.home() / ".cache") / "distmom" / "kernels"
    with suppress(OSError):  # nothing can be written anywhere
        yield Path(tempfile.gettempdir(), f"distmom-kernels-{_user()}")


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


def _usable(folder: Path) -> bool:
    """Whether only this user can write to it: its contents are executed."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return False
    ours = not hasattr(os, "getuid") or (found.st_uid == os.getuid() and not found.st_mode & 0o022)
    return ours and folder.is_dir() and not folder.is_symlink() and os.access(folder, os.W_OK)


def _with_copies(folder: Path) -> Path:
    """The folder, into which kernels that were compiled beforehand are copied once."""
    before = os.environ.get(BEFOREHAND)
    if before and not (folder / COPIED).exists():
        try:
            for part in Path(before).iterdir():
                if part.is_dir():
                    _copy(part, folder / part.name)
            (folder / COPIED).touch()
        except OSError:  # no such folder, a full disk: kernels are compiled as needed
            pass
    return folder


def _copy(part: Path, target: Path) -> None:
    """Copy a folder's files, each at once and indices last: other processes may be reading."""
    target.mkdir(exist_ok=True)
    for file in sorted(part.iterdir(), key=lambda file: file.suffix == ".nbi"):
        handle, copy = tempfile.mkstemp(dir=target)
        os.close(handle)
        shutil.copyfile(file, copy)
        Path(copy).replace(target / file.name)
