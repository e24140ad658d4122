"""What is read, and how: a lake with its filter and its policies, listed once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, Literal

import pyarrow as pa

from distmom.checks import check_choice, check_count, names_of
from distmom.cluster.dask_frame import open_frame
from distmom.errors import ConfigError
from distmom.lake import BATCH_ROWS, FileRef, Source, open_lake
from distmom.lake.files.listing import pattern_of, read_list
from distmom.lake.files.outputs import refuse_outputs

NAN = ("omit", "raise", "keep")
MISSING = ("error", "null")
ON_BAD_FILE = ("error", "skip")


@dataclass(frozen=True, eq=False, repr=False)
class Scan:
    """A lake, and how its rows are read; made by `distmom.scan`.

    Nothing is opened before it is needed; listing, footers and row counts are then kept for the lifetime of
    the object, so two calls with one scan see the same files.

    Attributes
    ----------
    data : object
    where : str or pyarrow.compute.Expression or None
    exclude : tuple of str
    nan, missing, on_bad_file : str
    storage_options : mapping or None
    batch_rows : int
    """

    data: Any
    where: Any = None
    exclude: tuple[str, ...] = ()
    nan: Literal["omit", "raise", "keep"] = "omit"
    missing: Literal["error", "null"] = "error"
    on_bad_file: Literal["error", "skip"] = "error"
    storage_options: Mapping[str, object] | None = field(default=None, repr=False)  # may hold secrets
    batch_rows: int = BATCH_ROWS

    def __post_init__(self) -> None:
        if isinstance(self.data, Scan):
            raise ConfigError("data: is already a scan; put all reading options into one scan")
        if isinstance(self.data, (list, tuple)) and any(isinstance(one, Scan) for one in self.data):
            raise ConfigError(
                "data: scans in a list are samples of their own, and one sample is asked for; "
                "give one scan of all paths, such as scan(['a/', 'b/'])"
            )
        for name, allowed in (("nan", NAN), ("missing", MISSING), ("on_bad_file", ON_BAD_FILE)):
            check_choice(name, getattr(self, name), allowed)
        check_count("batch_rows", self.batch_rows)
        object.__setattr__(self, "exclude", names_of("exclude", self.exclude))

    def __repr__(self) -> str:
        """The call that creates it, without defaults and values that may be secret."""
        given = [
            f"{f.name}={getattr(self, f.name)!r}"
            for f in fields(self)[1:]
            if f.repr and getattr(self, f.name) is not f.default  # there is one empty tuple
        ]
        data = (
            repr(self.data) if isinstance(self.data, (str, list, tuple)) else f"<{type(self.data).__name__}>"
        )
        return f"scan({', '.join([data, *given])})"

    @cached_property
    def source(self) -> Source:
        """The source of the rows: a Dask DataFrame, files here or in an object store, or data in memory."""
        frame = open_frame(self.data)
        if frame is not None and self.storage_options:
            raise ConfigError("storage_options: a Dask DataFrame has its own; drop them")
        opened: Any = frame or open_lake(self.data, storage_options=self.storage_options)
        refuse_outputs(self.data, opened)
        patterns = [pattern for name in self.exclude for pattern in read_list(name)]
        source: Source = _without(opened, patterns) if patterns else opened
        return source

    @property
    def files(self) -> tuple[FileRef, ...]:
        """The files, sorted by path; data in memory is one file named ``""``."""
        return tuple(self.source.files)

    @cached_property
    def schema(self) -> pa.Schema:
        """Columns of the first readable file, those of its folders included."""
        return self.source.schema()

    @cached_property
    def _n_rows(self) -> int:
        counts = self.source.row_counts()
        return int(counts[counts > 0].sum())

    def count_rows(self) -> int:
        """Rows of all files, from their footers; the filter is ignored.

        Raises
        ------
        DataError
            If a footer cannot be read, or a file changed since it was listed.
        """
        return self._n_rows

    def with_where(self, where: Any) -> Scan:
        """The same lake under a condition, if it has none yet; listing and footers are kept."""
        if where is None or where is self.where:
            return self
        if self.where is not None:
            raise ConfigError(
                "where: given both in the scan and in the call; give it once, the two joined by 'and'"
            )
        return self.instead(where)

    def without(self, files: Sequence[str]) -> Scan:
        """The same lake without these files, given by path; the listing is kept."""
        patterns = list(map(pattern_of, files))
        new = replace(self, exclude=(*self.exclude, *patterns))
        vars(new)["source"] = _without(self.source, patterns)
        return new

    def instead(self, where: Any) -> Scan:
        """The same lake under this condition instead of its own; the listing is kept."""
        new = replace(self, where=where)
        if "source" in vars(self):
            vars(new)["source"] = self.source
        return new


def scan(
    data: Any,
    *,
    where: Any = None,
    exclude: str | Sequence[str] = (),
    nan: Literal["omit", "raise", "keep"] = "omit",
    missing: Literal["error", "null"] = "error",
    on_bad_file: Literal["error", "skip"] = "error",
    storage_options: Mapping[str, object] | None = None,
    batch_rows: int = BATCH_ROWS,
) -> Scan:
    """Describe what to read, and how: the first argument of every function is a scan, or `data` itself.

    Parameters
    ----------
    data : path, glob, list of paths, ``"@list.txt"``, Arrow table, NumPy array, data frame, or mapping
        A folder means all Parquet files below it. Data in memory counts as one file, named "". Also an Arrow
        dataset (of local Parquet files: those files; otherwise a stream), a record batch reader or another
        object with the Arrow PyCapsule interface, and a Dask DataFrame: each partition is a file, computed
        where its rows are reduced (it must fit into a worker).
    where : str or pyarrow.compute.Expression, optional
        Condition such as ``"status == 'paid' and amount > 0"``; only rows for which it is true are used.
    exclude : str or sequence of str
        Files to leave out: paths below the lake's root, or patterns such as ``"day=2024-07-04/*"``;
        ``"@list.txt"`` stands for the lines of that file.
    nan : {"omit", "raise", "keep"}
        NaN is left out and counted, is an error, or stays and makes its block non-finite. Nulls are always
        left out, infinities always stay.
    missing : {"error", "null"}
        How to treat files that lack the column.
    on_bad_file : {"error", "skip"}
        Fail on unreadable files, or skip them and list them in the result.
    storage_options : mapping, optional
        Options of the object store (``s3://``, ``gs://``, ``abfs://``), such as ``{"endpoint": …, "region":
        …}``; credentials come from the environment, profile or role unless given here, and are passed on to
        workers.
    batch_rows : int
        Rows decoded at a time: at most 65,536 with groups, and by default 65,536 of more than 16 columns.
        Results do not depend on it.

    Returns
    -------
    Scan
        With ``files``, ``schema`` and ``count_rows()``; files are listed, and footers read, once.

    Raises
    ------
    ConfigError
        If an option is wrong; on first use also if `data` is of an unsupported kind, or a pattern of
        `exclude` matches no file.
    DataError
        On first use, if a file does not exist, or there are no files.

    Examples
    --------
    >>> import numpy as np
    >>> import distmom as dm
    >>> lake = dm.scan(np.array([1.0, 2.0, np.nan]), nan="keep")
    >>> lake.count_rows(), len(lake.files)
    (3, 1)
    """
    patterns = names_of("exclude", exclude)
    return Scan(data, where, patterns, nan, missing, on_bad_file, storage_options, batch_rows)


def as_scan(data: Any, where: Any = None) -> Scan:
    """The scan given by the first argument of a function, with its `where`."""
    if not isinstance(data, Scan):
        return Scan(data, where)
    if "source" in vars(data):  # opened by an earlier call, which wrote other files
        refuse_outputs(data.data, data.source)
    return data.with_where(where)


def _without(source: Any, patterns: Sequence[str]) -> Any:
    """The source without the files that the patterns match; each must match at least one."""
    if source.in_memory or not hasattr(source, "partition_names"):
        raise ConfigError("exclude: data in memory has no files to leave out; drop it")
    hit = dict.fromkeys(patterns, False)
    kept = []
    for file in source.files:
        matched = [
            p
            for p in patterns
            if file.path == p or fnmatchcase(file.path, p) or file.path.startswith(f"{p.rstrip('/')}/")
        ]
        for pattern in matched:
            hit[pattern] = True
        if not matched:
            kept.append(file)
    idle = next((p for p, met in hit.items() if not met), None)
    if idle is not None:
        first = source.files[0].path if source.files else ""
        raise ConfigError(
            f"exclude: no file matches {idle!r}; paths start below the lake's root, such as {first!r}"
        )
    if not kept:
        raise ConfigError("exclude: leaves no file; drop a pattern")
    return replace(source, files=tuple(kept))
