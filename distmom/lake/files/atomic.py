"""Files that appear complete or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_IMODE

from distmom.lake.files.leftovers import OwnFolder


@contextmanager
def atomic_file(target: Path) -> Iterator[Path]:
    """Give the name of a temporary file near `target`, which takes its place once the block is left.

    If the block fails, the temporary file is removed and `target` stays as it was. What was written is on the
    disk before the name changes, so that also a machine that fails leaves the old file or the new one. A link
    stays, and what it leads to is replaced; a file that is there keeps its permissions.

    What a killed run leaves is removed by the next one that writes a file into the same folder.
    """
    target = Path(os.path.realpath(target))
    own = OwnFolder(target.parent)
    try:
        temporary = own.path / target.name
        # created with the permissions that the system gives new files: to ask for its mask means to set it,
        # for a moment and for all threads
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        yield temporary
        with suppress(OSError):  # there is none yet, or it is another user's
            temporary.chmod(S_IMODE(target.stat().st_mode))
        _flush_to_disk(temporary)
        temporary.replace(target)
    finally:
        own.close()
    with suppress(OSError):  # not every system opens folders
        _flush_to_disk(target.parent)


def _flush_to_disk(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
