"""Several results at once: a sequence, a table, a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

from distmom.report.mean_result import MeanResult, plain

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA_VERSION = 1


class Results(Sequence[MeanResult]):
    """Results of one run, in order of column and group.

    Parameters
    ----------
    results : sequence of MeanResult
    data : dict
        What was read: ``n_files``, ``n_bytes``, ``skipped`` (files left out, each with its reason).
    run : dict
        How: ``seconds``, ``seed`` (pass it as `rng` to repeat the run), ``workers``, ``versions``.
    """

    def __init__(self, results: Sequence[MeanResult], data: dict[str, Any], run: dict[str, Any]) -> None:
        self._results = tuple(results)
        self.data = data
        self.run = run

    def __len__(self) -> int:
        return len(self._results)

    @overload
    def __getitem__(self, index: int) -> MeanResult: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[MeanResult, ...]: ...
    def __getitem__(self, index: int | slice) -> MeanResult | tuple[MeanResult, ...]:
        return self._results[index]

    def __iter__(self) -> Iterator[MeanResult]:
        return iter(self._results)

    def __repr__(self) -> str:
        return f"<Results: {len(self)} of {len({r.column for r in self})} column(s)>"

    def __str__(self) -> str:
        from distmom.report.text import as_text

        return as_text(self)

    def to_dict(self) -> dict[str, Any]:
        """The JSON document: ``schema_version``, ``results``, ``data``, ``run``."""
        return {
            "schema_version": SCHEMA_VERSION,
            "results": [r.to_dict() for r in self],
            "data": plain(self.data),
            "run": plain(self.run),
        }

    def to_arrow(self) -> pa.Table:
        """One row per result: group columns first, then the numbers, intervals and sizes in two columns each."""
        from distmom.report.table import as_arrow

        return as_arrow(self)
