"""The result of planning: ways to take a mean, side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from distmom.report.result import plain
from distmom.report.results import SCHEMA_VERSION

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.table import Table

    from distmom.report.page.parts import Story


@dataclass(frozen=True, slots=True)
class PlannedWay:
    """One way to take the mean; half-widths in standard deviations of a row.

    Attributes
    ----------
    name : str
    options : dict
        Arguments of `distmom.mean` that choose it.
    n_blocks, block_size : int
    exact : float or None
        Half-width of the ``exact`` interval, infinite where the bound is vacuous, None where there is none.
    paper : float or None
        Half-width by the proposition.
    order : float or None
        About the half-width of the ``order`` interval, for normal block means.
    survives : int
        Outlying rows (units) with which the answer stays finite.
    rows_drawn : int
        Values that enter a block.
    rows_for_width : int or None
        Rows needed for the half-width asked for; None where none was, or no number suffices.
    seconds : float
        Rough time for one float64 column in a warm cache.
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
    rows_for_width: int | None
    seconds: float
    n_pairs: int | None = None

    @classmethod
    def of(cls, way: Any, rows_for_width: int | None, seconds: float) -> PlannedWay:
        """The way as the theory has it, with what it needs."""
        numbers = {f.name: getattr(way, f.name) for f in fields(cls)[:-3]}
        return cls(**numbers, rows_for_width=rows_for_width, seconds=seconds)


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
        told = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "run"}
        told["ways"] = [asdict(way) for way in self.ways]
        told["recommended"] = asdict(self.recommended)
        return {name: plain(value) for name, value in told.items()}

    def document(self) -> dict[str, Any]:
        """The plan in the form that every command's JSON has; the ways are its results."""
        told = self.to_dict()
        ways = told.pop("ways")
        data = {"n_files": 0, "n_bytes": 0, "skipped": []}
        return {
            "schema_version": SCHEMA_VERSION,
            "results": ways,
            "data": data,
            "run": self.run,
            "plan": told,
        }

    def to_arrow(self) -> pa.Table:
        """A table with a row for each way; options as text."""
        import pyarrow as pa

        rows = [{**asdict(way), "options": written(way.options)} for way in self.ways]
        for row in rows:  # may be beyond 64 bits
            row["n_pairs"] = None if row["n_pairs"] is None else float(row["n_pairs"])
        types = {
            "paper": pa.float64(),
            "order": pa.float64(),
            "rows_for_width": pa.int64(),
            "n_pairs": pa.float64(),
        }
        names = [f.name for f in fields(PlannedWay)]
        return pa.table({n: pa.array([row[n] for row in rows], types.get(n)) for n in names})

    def as_table(self) -> Table:
        """A table for a terminal."""
        from rich import box
        from rich.table import Table

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
        table.add_column("way")
        if self.kernel is not None:
            return self._pair_table(table)
        heads = ["blocks", "block size", "exact ±", "paper ±", "order ±", "survives", "drawn", "time"]
        for head in heads + (["rows for width"] if self.width is not None else []):
            table.add_column(head, justify="right", no_wrap=True)
        for way in self.ways:
            cells = [f"{way.n_blocks:,}", f"{way.block_size:,}"]
            cells += [_half(h) for h in (way.exact, way.paper, way.order)]
            cells += [f"{way.survives:,}", f"{way.rows_drawn / self.n_rows:.3g} n", _time(way.seconds)]
            table.add_row(way.name, *cells, *self._rows_for_width(way))
        return table

    def _pair_table(self, table: Table) -> Table:
        heads = ["blocks", "block size", "exact ±", "pairs", "time"]
        for head in heads + (["rows for width"] if self.width is not None else []):
            table.add_column(head, justify="right", no_wrap=True)
        for way in self.ways:
            pairs = f"{way.n_pairs:.3g}" if way.n_pairs else "fast form"
            cells = [f"{way.n_blocks:,}", f"{way.block_size:,}", _half(way.exact), pairs, _time(way.seconds)]
            table.add_row(way.name, *cells, *self._rows_for_width(way))
        return table

    def _rows_for_width(self, way: PlannedWay) -> list[str]:
        if self.width is None:
            return []
        return ["-" if way.rows_for_width is None else f"{way.rows_for_width:,}"]

    def story(self) -> Story:
        """The report: what to take, and all ways."""
        from distmom.report.page.plan import story

        return story(self)

    def plot(self, ax: Any = None) -> Any:
        """Draw the half-widths of all ways; see `Result.plot`."""
        from distmom.report.page.draw import draw
        from distmom.report.page.plan import pictures

        return draw(pictures(self), f"{self.n_rows:,} rows", ax)

    def _repr_html_(self) -> str:
        from distmom.report.page.render import fragment

        return fragment(self.story())

    def remarks(self) -> list[str]:
        """What to take, why, and what the columns mean."""
        call = written(self.recommended.options) or "the defaults"
        if self.kernel is not None:
            return [
                f"take {self.recommended.name} ({call}): {self.why}",
                "half-widths are in standard deviations of the kernel; blocks of sampled pairs are of pairs",
            ]
        return [
            f"take {self.recommended.name} ({call}): {self.why}",
            "half-widths are in standard deviations of a row; 'survives': outlying rows with a finite answer",
        ]

    def __str__(self) -> str:
        from distmom.report.text import rendered

        head = f"{self.n_rows:,} rows, confidence level {self.confidence_level:.6g}"
        if self.contamination:
            head += f", {self.contamination:,} of them arbitrary"
        return "\n".join([head, rendered(self.as_table(), 160), *self.remarks()])


def written(options: dict[str, Any]) -> str:
    """The options as arguments of a call."""
    return ", ".join(f"{name}={value!r}" for name, value in options.items())


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
