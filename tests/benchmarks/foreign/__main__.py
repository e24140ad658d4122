"""Read data files and Delta tables of other projects, and compare with readers that share no code with ours.

    python -m tests.benchmarks.foreign FOLDER [--csv outcomes.csv] [--only TEXT]

FOLDER holds a folder for each project, with Parquet files of any writer and folders of Delta tables: those of
apache/parquet-testing, DuckDB, Impala, hyparquet, fastparquet, Polars and the Delta kernel are what it was
written for. Each file, and each version of a table, is looked at in processes of their own, which a crafted
file may end, one after the other.

Asked are `describe`, means of all columns of numbers, booleans and times, means under a condition on each
column, and rows by some columns. DuckDB and Polars say what is right, as do the rows that a project keeps
beside its file (``….json``, ``expected/``) and, for tables, a replay of their commits; where these differ,
distmom has to agree with one of them.

The table counts outcomes. ``wrong``, ``failure`` (a raw exception, or an internal error), ``dead``, ``time``
and ``memory`` are faults. What is refused has its reason: ``refused`` is what PyArrow reads (tables through
deltalake), a fault where the reason is not a good one; ``others read`` is what it does not read, but
DuckDB, Polars or a replay of the commits does; ``refused by all`` is what none of them reads. Nothing here is
asserted.

Files and versions of tables, and answers, of snapshots of November 2026 (PyArrow 26, DuckDB 2.0, Polars 2.1),
2,337 in all. No answer was wrong; nothing ended a process or in an internal error, or took a minute or 2 GB.

    project            items   equal   oracles differ   no answer   refused   others read   refused by all
    parquet-testing      233     916                3           1         2             9               18
    duckdb               387   2,355                3           1         5             9               38
    impala               388   3,847                4           2         6            17               14
    hyparquet             32     411                4           0         0             0                1
    fastparquet           86     416                3           3         2             0                0
    polars                11     100                0           0         0             0                0
    parquet-java           7      22                0           1         0             0                0
    iceberg               49      87                0           0         0             0                0
    duckdb-iceberg       124   1,161                0           0         0             0                0
    arrow-rs               1       7                0           0         0             0                0
    delta-kernel-rs      697   2,339                1          36         0           253               89
    delta-rs             300   1,099                2          24         0            15              155
    duckdb-delta          22     100                0           1         0             0                0

Refused, though PyArrow gives something: a column asked for whose name is that of two, INT96 times that 64
bits cannot hold (PyArrow wraps them), no columns at all, and rows or values that are not as many as the
footer says. Others read versions with deletion vectors, decimals and types that PyArrow does not know,
pages that fail their checksum or end early, and logs that deltalake does not read. Refused by all are
damaged and encrypted files, and versions whose files are gone or lie elsewhere. A damaged column leaves the
others of its file readable.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.benchmarks.foreign.apart import apart
from tests.benchmarks.foreign.asked import answers, readable
from tests.benchmarks.foreign.oracles import told
from tests.benchmarks.foreign.questions import Question, same
from tests.benchmarks.foreign.replay import versions

ENDINGS = (".parquet", ".parq", ".pq", ".encrypted")
SECONDS, MEGABYTES = 60.0, 2_000.0
MOST_VERSIONS = 25
Asked = list[tuple[Question, dict[str, Any]]]
FAULTS = ("wrong", "failure", "dead", "time", "memory")


class Item(NamedTuple):
    """A file, or a version of a table."""

    path: Path
    version: int | None = None

    @property
    def data(self) -> str:
        """How distmom is handed it."""
        return str(self.path) if self.version is None else f"{self.path}@v{self.version}"


class Outcome(NamedTuple):
    """How one question about an item ended."""

    project: str
    item: str
    asked: str
    how: str
    why: str


def items(folder: Path) -> Iterator[Item]:
    """All files that are no part of a table, and all versions of all tables."""
    tables = {log.parent for log in folder.rglob("_delta_log") if log.is_dir()}
    for table in sorted(tables):
        found = versions(table)
        yield from (Item(table, number) for number in found[-MOST_VERSIONS:])
    for file in sorted(folder.rglob("*")):
        if file.name.lower().endswith(ENDINGS) and file.is_file() and tables.isdisjoint(file.parents):
            yield Item(file)


def outcomes(folder: Path, item: Item) -> Iterator[Outcome]:
    """All outcomes of one item."""
    name = str(Path(item.data).relative_to(folder))
    project = name.partition("/")[0]
    oracle = apart(told, (item.path, item.version), SECONDS, 4 * MEGABYTES)
    asked: Asked = [one for one in oracle.told[1:] if one[1]]
    found = apart(answers, (item.data, [question for question, _ in asked]), SECONDS, MEGABYTES)
    names: list[str | None] | None = None
    for number, (how, what) in enumerate(found.told):
        question = asked[number - 1][0] if number else None
        if how == "answered":
            if question is not None:
                yield Outcome(project, name, str(question), *_judged(question, asked[number - 1][1], what))
            else:
                yield Outcome(project, name, "describe", how, "")
                yield from _described(project, name, asked, what)
            continue
        if how == "refused":
            if names is None:
                names = apart(readable, (item.path, item.version), SECONDS, MEGABYTES).told
            wanted = {None} if question is None else {question.column, question.name or question.column}
            others = bool(asked) if question is None else True  # each question has an answer of theirs
            how = "refused" if wanted <= set(names) else "others read" if others else "refused by all"
        yield Outcome(project, name, str(question or "describe"), how, str(what))
    if found.how != "done":
        labels = ["describe", *(str(question) for question, _ in asked), "end"]
        yield Outcome(project, name, labels[len(found.told)], found.how, found.why)


def _described(project: str, name: str, asked: Asked, counts: dict[str, int]) -> Iterator[Outcome]:
    for question, right in asked:
        if question.ask == "mean" and question.column in counts:  # not: columns of folders
            one = question._replace(ask="describe")
            yield Outcome(project, name, str(one), *_judged(one, right, counts.get(one.column)))


def _judged(question: Question, right: dict[str, Any], ours: Any) -> tuple[str, str]:
    agree = {name: same(question, ours, theirs) for name, theirs in right.items()}
    if all(agree.values()):
        return "equal", ""
    shown = "; ".join(f"{name}: {str(theirs)[:150]}" for name, theirs in right.items())
    return "oracles differ" if any(agree.values()) else "wrong", f"{str(ours)[:150]}; {shown}"


def reason(why: str) -> str:
    """A reason without what is of one file alone."""
    plain = re.sub(r"\S*/\S+|\S+\.(parquet|parq|pq|encrypted)\b", "FILE", why)
    plain = re.sub(r"'[^']*'|\"[^\"]*\"", "…", plain)
    return re.sub(r"\d[\d,.]*", "0", plain)[:150]


def show(table: list[Outcome], n_items: Counter[str]) -> None:
    """Print what happened: by project and outcome, then reasons, then faults."""
    kinds = sorted({one.how for one in table})
    print(f"{'':20}{'items':>8}" + "".join(f"{kind:>16}" for kind in kinds))
    counts = Counter((one.project, one.how) for one in table)
    for project in sorted(n_items):
        print(f"{project:20}{n_items[project]:8}" + "".join(f"{counts[project, kind]:16}" for kind in kinds))
    by_question = Counter((one.asked.partition(" ")[0], one.how) for one in table)
    print(f"\n{'':20}{'':8}" + "".join(f"{kind:>16}" for kind in kinds))
    for ask in ("describe", "mean", "where", "by"):
        print(f"{ask:28}" + "".join(f"{by_question[ask, kind]:16}" for kind in kinds))
    for how in ("refused", "others read", "refused by all", "no answer"):
        print(f"\n{how}:")
        for why, n in Counter(reason(one.why) for one in table if one.how == how).most_common():
            print(f"{n:6} {why}")
    for one in table:
        if one.how in FAULTS:
            print(f"{one.how:8} {one.item}: {one.asked}: {one.why[:300]}")


def main() -> None:
    """Look at all files and tables and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--csv", type=Path, help="all outcomes, one a line, written as they come")
    parser.add_argument("--only", default="", help="files and tables whose path holds this")
    given = parser.parse_args()
    chosen = [item for item in items(given.folder) if given.only in item.data]
    table: list[Outcome] = []
    n_items: Counter[str] = Counter()
    file = given.csv.open("w", newline="", buffering=1) if given.csv is not None else None
    write = csv.writer(file).writerow if file is not None else lambda row: None
    write([*Outcome._fields, "seconds"])
    for number, item in enumerate(chosen):
        begin = time.monotonic()
        told_of = list(outcomes(given.folder, item))
        n_items[item.path.relative_to(given.folder).parts[0]] += 1
        for one in told_of:
            write([*one, f"{time.monotonic() - begin:.2f}"])
        table += told_of
        if sys.stderr.isatty():
            print(f"\r{number + 1} of {len(chosen)}", end="", file=sys.stderr)
    show(table, n_items)


if __name__ == "__main__":
    main()
