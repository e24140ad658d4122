"""Readers that share no code with distmom's: each offers its rows as a relation of SQL."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb

from tests.benchmarks.foreign.questions import Question, questions, right
from tests.benchmarks.foreign.replay import replayed

Oracle = tuple[str, str]


def literal(path: Path | str) -> str:
    """A text in SQL."""
    return "'" + str(path).replace("'", "''") + "'"


def told(tell: Any, path: Path, version: int | None) -> None:
    """Tell the questions of a file or table with what each oracle says: ``(question, {oracle: answer})``."""
    run = duckdb.connect()
    run.execute("set threads = 1; set timezone = 'UTC'; set memory_limit = '2GB'")
    offered: list[Oracle] = []
    asked: list[Question] = []
    why = ""
    for name, relation in _oracles(run, path, version):
        oracle = name, f"rows_of_{name}"
        try:  # to the end: pushed-down conditions and counts would be taken from statistics
            run.execute(f"create temp table {oracle[1]} as select * from {relation}")
        except Exception as error:
            why = why or f"{name}: {str(error).splitlines()[0][:100]}"
            continue
        offered.append(oracle)
        try:
            asked = asked or list(questions(run, oracle[1]))
        except Exception as error:
            why = why or f"{oracle[0]}: {str(error).splitlines()[0][:100]}"
    tell(why)
    known = _names(run, path) if version is None else None
    for question in asked:
        if known is not None and not {question.column, question.name or question.column} <= known:
            continue  # renamed by DuckDB, as it is empty or differs from another one by case alone
        answers = {}
        for name, relation in offered:
            try:
                answers[name] = right(run, relation, question)
            except Exception:
                continue
        tell((question, answers))


def _names(run: Any, path: Path) -> set[str]:
    """The columns' names as the file has them."""
    try:
        return {row[0] for row in run.execute(f"select name from parquet_schema({literal(path)})").fetchall()}
    except Exception:
        return set()


def _oracles(run: Any, path: Path, version: int | None) -> Iterator[Oracle]:
    if version is not None:
        yield from _of_table(run, path, version)
        return
    relation = f"read_parquet({literal(path)}, hive_partitioning = false)"
    try:
        names = [row[0] for row in run.execute(f"describe select * from {relation}").fetchall()]
        yield "duckdb", relation
    except Exception:
        names = []
    yield from _polars(run, "polars", lambda pl: pl.read_parquet(path, hive_partitioning=False))
    rows = path.with_suffix(".json")
    if names and rows.exists():
        try:
            yield "json", _rows(run, json.loads(rows.read_text()), names)
        except Exception:
            return


def _of_table(run: Any, path: Path, version: int) -> Iterator[Oracle]:
    from deltalake import DeltaTable

    expected = path.parent / "expected"
    try:
        last = DeltaTable(path).version()
    except BaseException:
        last = version
    if expected.is_dir() and version == last and path.name == "delta":
        pattern = literal(f"{expected}/**/*.parquet")
        yield "expected", f"read_parquet({pattern}, union_by_name = true, hive_partitioning = false)"
    try:
        relation = replayed(run, path, version)
    except Exception:
        relation = None
    if relation is not None:
        yield "replay", relation
    yield from _polars(run, "polars", lambda pl: pl.scan_delta(str(path), version=version).collect())


def _polars(run: Any, name: str, read: Any) -> Iterator[Oracle]:
    import polars as pl

    try:
        run.register(f"of_{name}", read(pl).to_arrow())
    except BaseException:  # a panic in Rust is no Exception
        return
    yield name, f"of_{name}"


def _rows(run: Any, rows: Any, names: list[str]) -> str:
    """Rows of a JSON file, each an object, or a list in the order of the columns."""
    import polars as pl

    records = [row if isinstance(row, dict) else dict(zip(names, row, strict=True)) for row in rows]
    columns = {name: [record.get(name) for record in records] for name in names}
    kept = {
        name: values
        for name, values in columns.items()
        if not any(isinstance(value, list | dict) for value in values)
    }
    run.register("of_json", pl.DataFrame(kept, strict=False).to_arrow())
    return "of_json"
