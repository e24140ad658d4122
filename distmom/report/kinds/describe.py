"""The profile of a lake: its columns, and the files and units whose values differ from the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from distmom.report.kinds.profile import ColumnProfile
from distmom.report.results import Results
from distmom.report.values import plain
from distmom.words import counted

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True)
class Reason:
    """A finding about a file or unit.

    Attributes
    ----------
    column : str
    what : {"no values", "constant", "sign", "mirror", "scale", "mean", "narrow", "range", "missing"}
    value, typical : float or None
        The file's figure and that of the typical file: means for ``constant``, ``mean`` and ``sign``,
        standard deviations or means for ``scale`` and ``narrow``, the asymmetry for ``mirror``, the end of
        the range next to the typical mean for ``range``, shares for ``missing`` and ``no values``. Times are
        in nanoseconds.
    z_score : float or None
        Robust z-score, |value - typical| in robust scales; None if it is infinite.
    words : str
        The same as a sentence.
    """

    column: str
    what: str
    value: float | None
    typical: float | None
    z_score: float | None
    words: str


@dataclass(frozen=True)
class NamedUnit:
    """A file, folder or unit whose values differ from the rest.

    Attributes
    ----------
    kind : {"file", "folder", "unit"}
    name : str
    n_rows : int
    reasons : tuple of Reason
        One per column in which it stands out.
    parts : tuple of str
        For a file with several row groups: the location of the anomalous values.
    """

    kind: str
    name: str
    n_rows: int
    reasons: tuple[Reason, ...]
    parts: tuple[str, ...] = field(default=())

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {**vars(self), "reasons": [dict(vars(r)) for r in self.reasons], "parts": list(self.parts)}


class DescribeResult(Results[ColumnProfile]):
    """Profiles of the columns, in order, and the named files and units.

    Parameters
    ----------
    results : sequence of ColumnProfile
    named : sequence of NamedUnit
    data, run : dict
        As for `Results`; ``data`` also has ``n_rows``, ``folders`` (whether files of one folder were taken
        together because there are so many) and ``not_named`` (why no file or unit could be named, or None);
        ``unread`` if some columns are encrypted; ``left_out``, a list of ``column`` and ``reason``, if
        columns are damaged in some file.
    """

    title: ClassVar[str] = "Robust profile"
    told_by: ClassVar[str] = "describe"

    def __init__(
        self,
        results: Sequence[ColumnProfile],
        named: Sequence[NamedUnit],
        data: dict[str, Any],
        run: dict[str, Any],
    ) -> None:
        super().__init__(results, data, run)
        self.named = tuple(named)

    @property
    def columns(self) -> dict[str, ColumnProfile]:
        """Profiles by the column's name."""
        return {r.name: r for r in self}

    @property
    def named_files(self) -> tuple[str, ...]:
        """Paths of the named files."""
        return tuple(unit.name for unit in self.named if unit.kind == "file")

    def __repr__(self) -> str:
        return f"<DescribeResult: {counted(len(self), 'column')}, {len(self.named)} named>"

    def to_dict(self) -> dict[str, Any]:
        """The JSON document: as for every command, with ``named``."""
        told = super().to_dict()
        named = plain([unit.to_dict() for unit in self.named])
        return {"schema_version": told["schema_version"], "results": told["results"], "named": named} | told

    def more_tables(self) -> list[Table]:  # noqa: D102
        from distmom.report.kinds.describe_text import discrepancy_table, named_table

        return [table for table in (discrepancy_table(self), named_table(self)) if table is not None]

    def closing(self) -> list[str]:  # noqa: D102
        from distmom.report.kinds.describe_text import advice

        return advice(self)
