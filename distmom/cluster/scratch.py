"""Temporary files of a run: one hidden folder, removed with its content when the run ends."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from distmom.cluster.memory import in_words
from distmom.errors import ConfigError, ResourceError

if TYPE_CHECKING:
    from distmom.lake.files.leftovers import OwnFolder


class Scratch:
    """Temporary files of one run.

    ConfigError if `folder` is not a folder.

    Parameters
    ----------
    folder : path, optional
        The folder named by the user. By default Dask's ``temporary-directory``, the folder in ``TMPDIR``, or
        the system's folder for large files.

    Attributes
    ----------
    named : bool
        Whether the user named a folder.
    shared : bool
        Whether all processes of the run are on this machine, and so see its folders.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self.named = folder is not None
        self.shared = True
        self._parent = None if folder is None else Path(os.path.abspath(folder))  # noqa: PTH100  # links stay
        self._made: OwnFolder | None = None
        if self._parent is not None and not self._parent.is_dir():
            raise ConfigError(f"scratch: {self._parent} is not a folder; create it, or name another one")

    @property
    def reaches_all(self) -> bool:
        """Whether all processes should see the folder: they are on this machine, or the user named it."""
        return self.shared or self.named

    @property
    def parent(self) -> Path:
        """The folder in which the run's folder is created. ResourceError if there is none."""
        if self._parent is None:
            self._parent = default_folder()
        return self._parent

    def free_bytes(self) -> int:
        """Free bytes there; 0 if nothing can be written."""
        try:
            parent = self.parent
            return shutil.disk_usage(parent).free if os.access(parent, os.W_OK | os.X_OK) else 0
        except (OSError, ResourceError):
            return 0

    def check_room(self, n_bytes: int) -> None:
        """Raise ResourceError if `n_bytes` will not fit."""
        free = self.free_bytes()
        if free < n_bytes:
            raise ResourceError(
                f"scratch: the run needs {in_words(n_bytes)} of disk, but {self.parent} has "
                f"{in_words(free)} free; free some space, or name another folder as scratch"
            )

    def folder(self) -> Path:
        """The folder of this run, created on first use."""
        if self._made is None:
            from distmom.lake.files.leftovers import OwnFolder  # imports PyArrow, which threads avoid

            self._made = OwnFolder.of_scratch(self.parent)
        return self._made.path

    def close(self) -> None:
        """Remove it, once no work is running. Idempotent."""
        made, self._made = self._made, None
        if made is not None:
            made.close()


def default_folder() -> Path:
    """Default folder for large temporary files; ``/tmp`` is in memory on some systems."""
    import dask

    named = dask.config.get("temporary-directory", None) or os.environ.get("TMPDIR")
    if named is None and os.access("/var/tmp", os.W_OK | os.X_OK):
        named = "/var/tmp"
    try:
        return Path(named or tempfile.gettempdir()).absolute()
    except OSError as error:
        raise ResourceError("scratch: no writable temporary folder; name one as scratch") from error
