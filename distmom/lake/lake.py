"""A listing of Parquet files: made of what was found, and what can be asked of it before reading."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from distmom.errors import DataError, DistmomError, ResourceError
from distmom.lake.columns.references import settle
from distmom.lake.columns.schema import PARTITION_TYPES, Reference
from distmom.lake.columns.schema import SEARCHED_FILES as FOOTERS
from distmom.lake.columns.times import TimeScale, with_times
from distmom.lake.columns.vectors import measured
from distmom.lake.extent import Extent
from distmom.lake.files import footers, partitions
from distmom.lake.files.footer_checks import damaged_columns, rows_of
from distmom.lake.files.footers import whole_seconds
from distmom.lake.files.stores import full_address, is_local
from distmom.lake.messages import first_line, listing
from distmom.lake.reader import Reader
from distmom.lake.source import FileRef, PartitionType, ReadOptions, Source, Unsent
from distmom.lake.tables.logged import LoggedTable, TableColumns, TableVersion
from distmom.numerics.arrays import Ints

SEARCHED_FILES = 100
"""How many files may lack values before times are counted from 1970."""


KEPT_FOOTERS = 16
"""A call asks the first file five times or so; each opening is two requests or more to an object store."""


class Footer(NamedTuple):
    """What a file says of itself: encrypted columns are hidden, row groups and columns `checked` sound.

    Of the columns that are `closed`, which those are and damaged ones, chunks cannot be asked for.
    """

    metadata: pq.FileMetaData
    schema: pa.Schema
    hidden: frozenset[str]
    checked: set[tuple[int, int]]
    closed: frozenset[str]


@dataclass(frozen=True)
class Lake(Source):
    """Parquet files, sorted by their path below ``root``.

    Attributes
    ----------
    root : str
        Absolute path of the folder that the files' paths start from; in an object store, bucket first.
    partition_names : tuple of str
        Keys of the ``key=value`` folders.
    prefix : str
        What stands before the root in addresses: ``"s3://"``; empty on local disks.
    table : TableVersion, optional
        Which state of a table its log was asked for.
    columns : TableColumns, optional
        Which columns of the files are which of the table's.
    unaligned : str
        Why the folders' names give no columns although there are some: files have different keys.
    """

    root: str
    files: tuple[FileRef, ...]
    partition_names: tuple[str, ...]
    partition_types: tuple[PartitionType, ...] = ()
    filesystem: pafs.FileSystem = field(default_factory=pafs.LocalFileSystem, repr=False, compare=False)
    prefix: str = ""
    table: TableVersion | None = None
    columns: TableColumns | None = None
    unaligned: str = ""
    known: Unsent = field(default_factory=Unsent, repr=False, compare=False)

    @property
    def address(self) -> str:
        """How messages and states call the root."""
        return full_address(self.filesystem, self.prefix, self.root)

    def schema(self) -> pa.Schema:
        """Columns of the first readable file, with the partition columns in place of or after them.

        DataError if no file is readable; the first file's error.
        """
        _, schema = next(self._schemas())
        return schema

    def row_counts(self, files: Sequence[FileRef] | None = None) -> Ints:
        """Rows of each file, by a table's log or from the footers (one opening a file, about 60 µs each).

        DataError if a file is damaged or changed since it was listed.
        """
        chosen = self.files if files is None else files
        counts = np.empty(len(chosen), np.int64)
        for i, file in enumerate(chosen):
            if file.n_rows is not None:  # which is compared when the file is read
                counts[i] = file.n_rows
                continue
            counts[i] = rows_of(self._read_footer(file).metadata)
        return counts

    def first_types(self, names: Collection[str]) -> dict[str, pa.DataType]:
        """Types of columns in the first file where they are not null throughout, of a thousand at most."""
        found: dict[str, pa.DataType] = {}
        left = set(names)
        for _, schema in islice(self._schemas(), FOOTERS if left else 0):
            for name in left & set(schema.names):
                if schema.field(name).type != pa.null():
                    found[name] = schema.field(name).type
            left -= found.keys()
            if not left:
                break
        return found

    def row_groups(self, file: FileRef) -> list[int]:
        """Rows of each row group of a file, by its footer. DataError if the file changed or is damaged."""
        metadata = self._read_footer(file).metadata
        return [metadata.row_group(g).num_rows for g in range(metadata.num_row_groups)]

    def column_share(self, names: Collection[str]) -> float:
        """Share of a file's bytes that these columns take, by the footer of the first readable file."""
        for file in self.files:
            try:
                metadata, schema, _, _, closed = self._footer(file)
                return footers.column_share(metadata, schema, closed, names)
            except (DataError, OSError):
                continue
        return 1.0

    def extent(self, names: Collection[str]) -> Extent | None:
        """How large the largest file is, by its footer or that of the first readable one."""
        total = sum(file.size for file in self.files)
        most = max((file.size for file in self.files), default=0)
        for file in (*(file for file in self.files if file.size == most), *self.files)[:SEARCHED_FILES]:
            with suppress(DataError, OSError):
                metadata, schema, _, _, closed = self._footer(file)
                stored = footers.column_positions(schema)
                known = {n: stored[n] for n in names if stored.get(n, -1) >= 0 and n not in closed}
                size = max(file.size, 1)
                return Extent.of(metadata, known, most / size, total / size)
        return None

    def reader(self, options: ReadOptions) -> Reader:
        """A reader of these columns: frozen, picklable, without the list of files.

        One footer is read, more only where a column is null throughout in the first files; of columns of
        times also their first rows, and rows up to the first vector where list columns are allowed and their
        type does not tell their length.

        ConfigError if no file has a column of that name, or the condition does not fit the columns' types;
        DataError if a column's type cannot be read, or some files lack it; NoAnswerError if the length of a
        list column is looked for and no row has one.
        """
        try:
            options, references = settle(options, self.partition_names, self._schemas, self.address)
        except DistmomError as error:
            if told := "; ".join(filter(None, (self.unaligned, self.unread))):
                error.args = (f"{error}; {told}",)  # the column that is missing may be one of these
            raise
        options = with_times(options, references, self._scale)
        reader = Reader(
            root=self.root,
            filesystem=self.filesystem,
            options=options,
            partitions=tuple(zip(self.partition_names, self.partition_types, strict=True)),
            references=tuple(references.values()),
            columns=self.columns,
            checked=Unsent({path: footer.checked for path, footer in self.known.items()}),
        )
        return measured(reader, self.files)

    @property
    def unread(self) -> str:
        """Words for the encrypted columns of the footers known; empty without any."""
        names = {name for footer in self.known.values() for name in footer.hidden}
        return f"encrypted, and so not read: {listing(sorted(names))}" if names else ""

    def _scale(self, reference: Reference) -> TimeScale:
        """The scale of a column of times, counted from near its first values."""
        scale = reference.scale
        assert scale is not None
        if reference.column in self.partition_names:
            return scale
        paths = [file.path for file in self.files]
        first = paths.index(reference.file)
        for file in self.files[first : first + SEARCHED_FILES]:
            try:
                values = footers.first_values(
                    self.filesystem, self.root, file, reference.column, self.columns
                )
            except DataError:  # is told, or passed over, when the file is read for its rows
                continue
            except OSError as error:  # going on would count from another day than the next run
                raise _unread(error) from error
            if values is not None and TimeScale.of(values.type) is not None:
                return scale.near(values)
        return scale

    def _schemas(self) -> Iterator[tuple[FileRef, pa.Schema]]:
        """Schemas of the readable files, in order; if none is, the first file's error."""
        failure: Exception | None = None
        found = False
        for file in self.files:
            try:
                _, schema, hidden, *_ = self._footer(file)
            except (DataError, OSError) as error:
                failure = failure or error
                continue
            found = True
            for name in hidden:
                for i in reversed(schema.get_all_field_indices(name)):
                    schema = schema.remove(i)
            yield file, self._with_partitions(schema)
        if not found and failure is not None:
            raise failure if isinstance(failure, DataError) else _unread(failure) from failure

    def _read_footer(self, file: FileRef, *, chunks: bool = False) -> Footer:
        """With `chunks` also those of columns may be asked for."""
        with footers.open_parquet(self.filesystem, self.root, file, columns=self.columns) as parquet:
            closed = parquet.hidden | damaged_columns(parquet) if chunks else parquet.hidden
            return Footer(parquet.metadata, parquet.schema_arrow, parquet.hidden, parquet.checked, closed)

    def _footer(self, file: FileRef) -> Footer:
        """The same, as it was when it was first asked for where it is one of the first."""
        found: Footer | None = self.known.get(file.path)
        if found is None:
            found = self._read_footer(file, chunks=True)
            if len(self.known) < KEPT_FOOTERS:
                self.known[file.path] = found
        return found

    def _with_partitions(self, schema: pa.Schema) -> pa.Schema:
        if self.columns is not None:
            schema = self.columns.complete(schema)
        fields = {name: schema.field(i) for i, name in enumerate(schema.names)}
        for name, kind in zip(self.partition_names, self.partition_types, strict=True):
            fields[name] = pa.field(name, PARTITION_TYPES[kind])
        return pa.schema(list(fields.values()))


_FOLDER_MARK = "_$folder$"


def build_lake(
    filesystem: pafs.FileSystem,
    prefix: str,
    root: str,
    infos: list[pafs.FileInfo],
    logged: LoggedTable | None = None,
) -> Lake:
    """Names, partition values and order of the files found: by the folders' names, or a table's log.

    Parameters
    ----------
    logged : LoggedTable, optional
        Has a file for each of `infos`, in the same order.
    """
    start = len(root.rstrip("/")) + 1
    local = is_local(filesystem)
    if not local and logged is None:
        infos = _without_folder_marks(infos)
        if not infos:
            raise DataError(f"no Parquet file under {prefix}{root}")
    listed = _labelled(infos, start)
    labels = sorted(listed)
    if logged is None:
        (names, rows, unaligned), types = _of_folders(labels, [listed[label][0] for label in labels])
        counts: list[int | None] = [None] * len(labels)
    else:
        names, types, unaligned = logged.partition_names, logged.partition_types, ""
        by_path = {file.path: file for file in logged.files}
        chosen = [by_path[listed[label][0]] for label in labels]
        rows, counts = [file.partition for file in chosen], [file.n_rows for file in chosen]
    files: list[FileRef] = []
    for label, row, n_rows in zip(labels, rows, counts, strict=True):
        raw, info = listed[label]
        changed = info.mtime_ns if local else whole_seconds(info.mtime_ns)
        files.append(FileRef(label, info.size, changed, row, None if raw == label else info.path, n_rows))
    return Lake(
        root=root,
        files=tuple(files),
        partition_names=names,
        partition_types=types,
        unaligned=unaligned,
        filesystem=filesystem,
        prefix=prefix,
        table=None if logged is None else logged.version,
        columns=None if logged is None else logged.columns,
    )


def _labelled(infos: list[pafs.FileInfo], start: int) -> dict[str, tuple[str, pafs.FileInfo]]:
    """The files by the keys of their rows: their paths below the root, decoded where that names one alone."""
    raws = {info.path[start:]: info for info in infos}
    if len(raws) < len(infos):
        twice, _ = Counter(info.path[start:] for info in infos).most_common(1)[0]
        raise DataError(f"file {_decoded(twice)} is given twice; name it once, alone or by its folder")
    named = Counter(map(_decoded, raws))
    labels = {raw: _decoded(raw) if named[_decoded(raw)] == 1 else raw for raw in raws}
    if len(set(labels.values())) < len(labels):
        label, _ = Counter(labels.values()).most_common(1)[0]
        raise DataError(f"two files are called {label} once decoded; rename one")
    return {label: (raw, raws[raw]) for raw, label in labels.items()}


def _decoded(raw: str) -> str:
    if "%" not in raw and raw.isascii():
        return raw
    return unicodedata.normalize("NFC", unquote(raw))


def _of_folders(labels: list[str], paths: list[str]) -> tuple[partitions.Aligned, tuple[PartitionType, ...]]:
    """Names and values of the partition columns that the folders' names give, and their types."""
    pairs = zip(labels, paths, strict=True)
    found = partitions.align((name, partitions.parse_folders(path, name)) for name, path in pairs)
    return found, partitions.infer_types(found.rows)


def _without_folder_marks(infos: list[pafs.FileInfo]) -> list[pafs.FileInfo]:
    """Without the empty objects by which tools mark folders in an object store."""
    folders = {info.path.rpartition("/")[0] for info in infos}
    return [
        info for info in infos if info.size or not (info.path.endswith(_FOLDER_MARK) or info.path in folders)
    ]


def _unread(error: Exception) -> ResourceError:
    """What becomes of a disk that fails."""
    return ResourceError(f"{first_line(error)}; check the store and run again")
