"""The result of planning: ways to take a mean, side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from distmom.report.results import SCHEMA_VERSION
from distmom.report.values import plain

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True)
class PlannedWay:
    """One way to take the mean, for independent rows; half-widths in standard deviations of a row.

    Attributes
    ----------
    name : str
    options : dict
        Arguments of `distmom.mean` (of a kernel, of `distmom.ustatistic`) that choose it.
    n_blocks, block_size : int
        K and B.
    exact : float or None
        Half-width of the ``exact`` interval, infinite where the bound is vacuous, None where there is none.
    paper : float or None
        Half-width by the proposition; None where it has none.
    order : float or None
        About the half-width of the ``order`` interval, for normal block means; None where it is not offered.
    survives : int
        Outlying rows (units) with which the answer stays finite: always for a partition; with the confidence
        level for samples.
    rows_drawn : int
        Values that enter a block: n for a partition, K B for samples.
    seconds : float
        Rough time of one thread, for one float64 column in a warm cache.
    rows_for_width : int or None
        Rows needed for the half-width asked for; None where none was, or no number suffices.
    n_pairs : int or None
        Of a kernel: pairs that are evaluated one by one, 0 where a fast form needs none.
    """

    name: str
    options: dict[str, Any]
    n_blocks: int
    block_size: int
    exact: float | None
    paper: float | None
    order: float | None
    survives: int
    rows_drawn: int
    seconds: float
    rows_for_width: int | None = None
    n_pairs: int | None = None


@dataclass(frozen=True)
class PlanResult:
    """Ways to take a robust mean; iterates over them.

    Attributes
    ----------
    n_rows : int
    confidence_level : float
    contamination : int
        Outlying rows allowed for.
    width : float or None
        Half-width asked for, in standard deviations of a row, or of the kernel.
    ways : tuple of PlannedWay
    recommended : PlannedWay
    why : str
    run : dict
        Versions.
    kernel : str or None
        Of plans for pairs: half-widths then are in standard deviations of the kernel.
    """

    n_rows: int
    confidence_level: float
    contamination: int
    width: float | None
    ways: tuple[PlannedWay, ...]
    recommended: PlannedWay
    why: str
    run: dict[str, Any] = field(default_factory=dict, repr=False)
    kernel: str | None = None

    def __iter__(self) -> Iterator[PlannedWay]:
        return iter(self.ways)

    def __len__(self) -> int:
        return len(self.ways)

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values: half-widths that are infinite become None."""
        told = vars(self) | {"ways": list(map(vars, self.ways)), "recommended": vars(self.recommended)}
        return {name: plain(value) for name, value in told.items() if name != "run"}

    def document(self) -> dict[str, Any]:
        """The plan in the form that every command's JSON has; the ways are its results."""
        told = self.to_dict()
        ways = told.pop("ways")
        data = {"n_files": 0, "n_bytes": 0, "skipped": []}
        head = {"schema_version": SCHEMA_VERSION, "results": ways, "data": data}
        return {**head, "run": self.run, "plan": told}

    def as_table(self) -> Table:
        """A table for a terminal."""
        from distmom.report.text import empty_table

        table = empty_table()
        rows = [self._cells(way) for way in self.ways]
        for head in rows[0]:
            right = head != "way"
            table.add_column(head, justify="right" if right else "left", no_wrap=right)
        for row in rows:
            table.add_row(*row.values())
        return table

    def _cells(self, way: PlannedWay) -> dict[str, str]:
        """What the table says of a way, by column."""
        cells = {"way": way.name, "blocks": f"{way.n_blocks:,}", "block size": f"{way.block_size:,}"}
        cells["exact ±"] = _half(way.exact)
        if self.kernel is not None:
            cells["pairs"] = f"{way.n_pairs:.3g}" if way.n_pairs else "fast form"
        else:
            cells |= {"paper ±": _half(way.paper), "order ±": _half(way.order)}
            cells |= {"survives": f"{way.survives:,}", "drawn": f"{way.rows_drawn / self.n_rows:.3g} n"}
        cells["time"] = _time(way.seconds)
        if self.width is not None:
            cells["rows for width"] = "-" if way.rows_for_width is None else f"{way.rows_for_width:,}"
        return cells

    def __str__(self) -> str:
        from distmom.report.text import rendered

        head = f"{self.n_rows:,} rows, confidence level {self.confidence_level:.6g}"
        if self.contamination:
            head += f", {self.contamination:,} of them arbitrary"
        options = self.recommended.options.items()
        call = ", ".join(f"{name}={value!r}" for name, value in options) or "the defaults"
        told = (
            "half-widths are in standard deviations of a row; 'survives': outlying rows with a finite answer"
        )
        if self.kernel is not None:
            told = (
                "half-widths are in standard deviations of the kernel; blocks of sampled pairs are of pairs"
            )
        remarks = [f"take {self.recommended.name} ({call}): {self.why}", told]
        return "\n".join([head, rendered(self.as_table(), 160), *remarks])


def _half(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.3g}" if math.isfinite(value) else "vacuous"


def _time(seconds: float) -> str:
    if seconds < 0.001:
        return "< 1 ms"
    if seconds < 0.1:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 120:
        return f"{seconds:.2g} s"
    return f"{seconds / 60:.2g} min" if seconds < 7200 else f"{seconds / 3600:,.3g} h"
