"""A filesystem of an object store whose requests are made again if they failed for a reason that may pass."""

from __future__ import annotations

from typing import Any

import pyarrow.fs as pafs

from distmom.lake.files.retries import Patience
from distmom.lake.files.stored_object import StoredObject, Tags
from distmom.lake.messages import masked


class Patient:
    """What is put before one of PyArrow's filesystems: the two methods by which everything here asks a store.

    Both raise DataError, AccessError or ResourceError, or FileNotFoundError.

    Attributes
    ----------
    prefix : str
        What stands before a path in messages.
    """

    prefix: str
    patience: Patience
    tags: Tags

    def get_file_info(self, paths: Any) -> Any:
        """What lies at a path, at each of some, or below the folder of a `pyarrow.fs.FileSelector`."""
        if isinstance(paths, pafs.FileSelector):
            return self._asked(lambda: self._listed(paths), paths.base_dir)
        ask = super().get_file_info  # type: ignore[misc]
        if isinstance(paths, str):
            return self._asked(lambda: ask(paths), paths)
        try:
            return ask(paths)  # several at once
        except OSError:
            return [self.get_file_info(path) for path in paths]

    def _listed(self, selector: pafs.FileSelector) -> list[pafs.FileInfo]:
        """What lies below a folder: many requests, of which each is made again if the store's client can."""
        found: list[pafs.FileInfo] = super().get_file_info(selector)  # type: ignore[misc]
        return found

    def open_input_file(self, path: str) -> StoredObject:
        """An object, opened."""
        stream = self._asked(lambda: super(Patient, self).open_input_file(path), path)  # type: ignore[misc]
        return StoredObject(stream, self.patience, f"{self.prefix}{path}", self.tags)

    def _asked(self, request: Any, path: str) -> Any:
        return self.patience.ask(request, f"{self.prefix}{path}", lambda: self._reason(path))

    def _reason(self, path: str) -> str | None:
        """What the store says to a request whose refusal has a text: those of a file's head have none."""
        folder = path.rpartition("/")[0] or path
        try:
            super().get_file_info(pafs.FileSelector(folder))  # type: ignore[misc]
        except OSError as error:
            return masked(error)
        return None
