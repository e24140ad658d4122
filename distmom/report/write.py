"""Results to a file: JSON, Parquet, CSV or HTML, whole or not at all."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from distmom.errors import ConfigError, ResourceError
from distmom.report.results import Results

if TYPE_CHECKING:
    from rich.table import Table

    from distmom.report.result import Result

FORMATS = (".json", ".parquet", ".csv", ".html")


def check_output(path: str | os.PathLike[str]) -> Path:
    """The path, once its ending and folder are known to be good: call it before long work."""
    target = Path(path)
    if target.suffix.lower() not in FORMATS:
        raise ConfigError(
            f"output {str(path)!r}: the ending must be one of {', '.join(FORMATS)}, not {target.suffix!r}; "
            "rename the file"
        )
    folder = target.parent
    if not folder.is_dir():
        raise ConfigError(f"output {str(path)!r}: there is no folder {str(folder)!r}; create it first")
    if target.is_dir():
        raise ConfigError(f"output {str(path)!r}: a folder of that name exists; choose another name")
    if not os.access(folder, os.W_OK):
        raise ConfigError(f"output {str(path)!r}: the folder {str(folder)!r} is not writable; choose another")
    return target


def write_results(results: Results | Result, path: str | os.PathLike[str]) -> None:
    """Write results in the format that the ending of the path names; the file appears complete or not at all.

    Raises
    ------
    ConfigError
        If the ending is not one of .json, .parquet, .csv, .html, or the folder does not exist.
    ResourceError
        If the disk is full or the file cannot be written.
    """
    target = check_output(path)
    together = Results.of(results)
    writers: dict[str, Callable[[Results, Path], None]] = {
        ".json": _write_json,
        ".parquet": _write_parquet,
        ".csv": _write_csv,
        ".html": _write_html,
    }
    from distmom.lake.atomic import atomic_file

    try:
        with atomic_file(target) as temporary:
            writers[target.suffix.lower()](together, temporary)
    except OSError as error:
        reason = error.strerror or str(error).splitlines()[0]
        raise ResourceError(
            f"output {str(path)!r} could not be written: {reason}; no file was left"
        ) from error


def _write_json(results: Results, path: Path) -> None:
    path.write_text(
        json.dumps(results.to_dict(), indent=1, allow_nan=False, ensure_ascii=False) + "\n", "utf-8"
    )


def _write_parquet(results: Results, path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(results.to_arrow(), path)


def _write_csv(results: Results, path: Path) -> None:
    from pyarrow import csv

    from distmom.report.table import durations_as_text

    csv.write_csv(durations_as_text(results.to_arrow()), path)


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>distmom</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body {{ font: 15px/1.45 system-ui, sans-serif; margin: 2rem; color: #1b1b1b; }}
table {{ border-collapse: collapse; margin-bottom: 1.5rem; }}
th, td {{ padding: .3rem .7rem; border-bottom: 1px solid #ddd; text-align: right; white-space: nowrap; }}
th {{ border-bottom: 2px solid #555; }}
th.text, td.text {{ text-align: left; }}
tr.warn td {{ background: #fff4e5; }}
</style></head><body>
<h1>{title}</h1>
{tables}
<p>{remarks}</p>
</body></html>
"""


def _write_html(results: Results, path: Path) -> None:
    from distmom.report.text import as_table, remarks

    of_lines = [result for result in results for _ in result.lines()]
    tables = [_html_table(as_table(results), [not result.doubtful for result in of_lines])]
    tables += [_html_table(table, [True] * table.row_count) for table in results.more_tables()]
    lines = "<br>".join(html.escape(line) for line in [*results.closing(), *remarks(results)])
    path.write_text(_PAGE.format(title=results.title, tables="\n".join(tables), remarks=lines), "utf-8")


def _html_table(table: Table, good: Sequence[bool]) -> str:
    """A table; lines that are not good are marked."""
    kinds = ["" if column.justify == "right" else ' class="text"' for column in table.columns]
    head = "".join(
        f"<th{kind}>{html.escape(str(column.header))}</th>"
        for kind, column in zip(kinds, table.columns, strict=True)
    )
    rows = []
    for fine, row in zip(good, zip(*(column.cells for column in table.columns), strict=True), strict=True):
        mark = "" if fine else ' class="warn"'
        data = "".join(f"<td{k}>{html.escape(str(c))}</td>" for k, c in zip(kinds, row, strict=True))
        rows.append(f"<tr{mark}>{data}</tr>")
    body = "\n".join(rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table>"
