"""Labels of any type: which there are, and rows whose last value is the number of their label."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from distmom.cluster import plan_units, run_units
from distmom.cluster.work import ReadAndReduce, SkippedFile
from distmom.errors import ConfigError, DataError
from distmom.lake import BatchReader
from distmom.lake.keys.encoder import KeyEncoder
from distmom.lake.keys.keyvalues import NAN, NULL, Key
from distmom.numerics.arrays import Floats
from distmom.passes.census import column_share
from distmom.reductions.counting import DistinctKeys

if TYPE_CHECKING:
    from distmom.lake import Batch, FileRef, ReadOptions, Source
    from distmom.passes.gather import RowSource

MISSING: tuple[Key, ...] = ((NULL,), (NAN,))


@dataclass(frozen=True)
class LabelReader(BatchReader):
    """Reads as another reader does, with the number of its key as last value of a row.

    The only key of that reader is the column of labels, in the order of their numbers. A null or NaN label
    stays so.
    """

    reader: BatchReader
    labels: tuple[Key, ...] = ()

    @property
    def options(self) -> ReadOptions:
        """What is read, labels among the values."""
        read = self.reader.options
        return replace(read, columns=(*read.columns, *read.by), by=())

    def excludes(self, file: FileRef) -> bool:
        """Whether the filter drops every row of the file."""
        return self.reader.excludes(file)

    def batches(self, file: FileRef, start: int = 0, stop: int | None = None) -> Iterator[Batch]:
        """Batches of the rows ``[start, stop)`` of a file."""
        return self._coded(self.reader.batches(file, start, stop))

    def batches_holding(self, file: FileRef, rows: NDArray[np.int64]) -> Iterator[Batch]:
        """Batches that hold these rows of a file."""
        return self._coded(self.reader.batches_holding(file, rows))

    def _coded(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        encoder = KeyEncoder(1, (*MISSING, *self.labels))
        for batch in batches:
            codes = encoder.encode(batch.keys, batch.keep)
            numbers = codes.astype(np.float64) - len(MISSING)
            numbers[codes == 1] = np.nan
            null = codes == 0
            valid = ~null if null.any() else None
            yield replace(batch, values=(*batch.values, numbers), valid=(*batch.valid, valid), keys=())


def labels_of_lake(
    source: Source, read: ReadOptions, rows: RowSource, most: int
) -> tuple[tuple[Key, ...], tuple[SkippedFile, ...]]:
    """All labels of the rows that pass the filter, sorted, and files left out: one pass over their column.

    ConfigError if there are more than `most`.
    """
    alone = replace(read, columns=(), vectors=None)
    [name] = read.by
    many = f"y: more than {most:,} classes; is {name!r} a column of labels?"
    spec = DistinctKeys(most + len(MISSING), many)
    work = ReadAndReduce(source.reader(alone), spec, n_keys=1, on_bad_file=rows.on_bad_file)
    share = column_share(source, alone)
    units = plan_units(rows.files, column_share=share, threads=rows.executor.threads)
    found = run_units(work, units, spec.merge, rows.executor)
    labels = sorted(key for key in found.state or () if key not in MISSING)
    if len(labels) > most:
        raise ConfigError(many)
    return tuple(labels), found.skipped


def values_of(labels: Sequence[Key]) -> NDArray[Any]:
    """The labels as an array of their type, as scikit-learn stores the classes of an array."""
    values = [component[1] for (component,) in labels]
    try:
        whole = all(type(value) in (int, bool, str) for value in values)
        return np.array(values) if whole and values else np.array(values, np.float64)
    except OverflowError:
        return np.array(values, np.float64)


def labels_of(y: NDArray[Any]) -> tuple[NDArray[Any], Floats]:
    """Distinct labels, sorted, and the number of each row's label."""
    classes, codes = np.unique(y, return_inverse=True)
    return classes, codes.astype(np.float64)


def check_sample_of_labels(labels: Floats, what: str) -> None:
    """Refuse labels that form no pair."""
    counts = np.unique(labels, return_counts=True)[1]
    if counts.size < 2:
        raise DataError(f"{what}: there is one class only, so no pair of different labels can be formed")
    if counts.max() < 2:
        raise DataError(f"{what}: no label occurs twice, so no pair of equal labels can be formed")
