"""Writing results to a file: JSON, Parquet, CSV or HTML, completely or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Any

from distmom.checks import did_you_mean
from distmom.errors import ConfigError, ResourceError
from distmom.report.on_demand import OnDemand
from distmom.report.result import Result
from distmom.report.results import Results, members

if TYPE_CHECKING:
    import pyarrow as pa

FORMATS = (".json", ".parquet", ".csv", ".html")
ROW_GROUP = 32_768
"""Rows of a file's row groups if results are made on demand; results in memory form one row group."""

MOST_NAME_BYTES = 255 - 18
"""Longest name that systems allow, minus the suffix used while the file is written."""


def check_output(
    path: str | os.PathLike[str], what: str = "output", formats: tuple[str, ...] = FORMATS
) -> Path:
    """The path, after a check of its extension and folder; call this before long work."""
    target, name = Path(path), f"{what} {str(path)!r}"
    if len(os.fsencode(target.name)) > MOST_NAME_BYTES:
        raise ConfigError(
            f"{what}: a file name may have at most {MOST_NAME_BYTES} bytes, not "
            f"{len(os.fsencode(target.name))}; shorten {str(target.name)[:40]!r}…"
        )
    if target.suffix.lower() not in formats:
        raise ConfigError(
            f"{name}: the ending must be one of {', '.join(formats)}, not {target.suffix!r}"
            f"{did_you_mean(target.suffix, formats) or '; rename the file'}"
        )
    folder = Path(os.path.realpath(target)).parent if target.is_symlink() else target.parent
    if not folder.is_dir():
        raise ConfigError(f"{name}: there is no folder {str(folder)!r}; create it first")
    if target.is_dir():
        raise ConfigError(f"{name}: a folder of that name exists; choose another name")
    if not os.access(folder, os.W_OK):
        raise ConfigError(f"{name}: the folder {str(folder)!r} is not writable; choose another")
    return target


def write_results(results: Results | Result, path: str | os.PathLike[str]) -> None:
    """Write results in the format given by the path's extension; the file appears complete or not at all.

    Raises
    ------
    ConfigError
        If the extension is not .json, .parquet, .csv or .html, the folder does not exist, or the file is one
        of the data files or would be read as one.
    ResourceError
        If the disk is full or the file cannot be written.
    """
    from distmom.lake.files.outputs import refuse_output

    target = check_output(path)
    together = Results.of(results)
    refuse_output(together.data.get("source"), None, target, f"output {str(path)!r}")
    write = {".json": _write_json, ".parquet": _write_parquet, ".csv": _write_csv, ".html": _write_html}
    write_whole(target, partial(write[target.suffix.lower()], together))


def write_whole(path: Path, write: Callable[[Path], object], what: str = "output") -> None:
    """Write a file so that it appears complete or not at all.

    Raises
    ------
    ResourceError
        If the disk is full or the file cannot be written.
    """
    from distmom.lake.files.atomic import atomic_file

    try:
        with atomic_file(path) as temporary:
            write(temporary)
    except OSError as error:
        reason = error.strerror or str(error).splitlines()[0]
        raise ResourceError(
            f"{what} {str(path)!r} could not be written: {reason}; no file was left"
        ) from error


def json_pieces(results: Results, *, ensure_ascii: bool) -> Iterator[str]:
    """The text of `Results.document`, in pieces: results of very many groups are not in memory at once."""
    text = partial(json.dumps, indent=1, allow_nan=False, ensure_ascii=ensure_ascii)
    if not isinstance(members(results), OnDemand) or type(results).to_dict is not Results.to_dict:
        yield text(results.document()) + "\n"
        return
    before, empty, after = text(results.ends(0).document()).partition('"results": []')
    yield before + empty[:-1]
    for i, one in enumerate(results):
        yield ",\n" * (i > 0) + "\n" * (i == 0) + indent(text(one.to_dict()), "  ")
    yield "\n ]" + after + "\n"


def _write_json(results: Results, path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json_pieces(results, ensure_ascii=False))


def _row_groups(results: Results) -> Iterator[pa.Table]:
    """The table of `Results.to_arrow` in pieces of one row group each."""
    import pyarrow as pa

    from distmom.report.table import arrow_pieces

    waiting: list[pa.Table] = []
    for piece in arrow_pieces(results):
        waiting.append(piece)
        if sum(map(len, waiting)) >= ROW_GROUP:
            waiting, whole = [], [pa.concat_tables(waiting)]
            del piece
            yield whole.pop()
    if waiting:
        yield pa.concat_tables(waiting)


def _write_tables(
    path: Path, open_file: Callable[[Path, pa.Schema], Any], tables: Iterator[pa.Table]
) -> None:
    """Write tables one after the other, releasing each before the next one is made."""
    with ExitStack() as stack:
        file = None
        for table in tables:
            if file is None:
                file = stack.enter_context(open_file(path, table.schema))
            file.write_table(table)
            del table


def _write_parquet(results: Results, path: Path) -> None:
    import pyarrow.parquet as pq

    _write_tables(path, pq.ParquetWriter, _row_groups(results))


def _write_csv(results: Results, path: Path) -> None:
    from pyarrow import csv

    from distmom.report.table import durations_as_text

    _write_tables(path, csv.CSVWriter, map(durations_as_text, _row_groups(results)))


def _write_html(results: Results, path: Path) -> None:
    from distmom.report.page.render import page

    versions = results.run.get("versions", {})
    path.write_text(page(results.story(), versions, datetime.now(UTC)), "utf-8")
