"""What a command prints: results or plans, as tables or as JSON."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from distmom.cli.failures import tell, write_stdout
from distmom.cli.words import wording
from distmom.words import counted

if TYPE_CHECKING:
    from distmom.report import Results


def show_results(results: Results, *, as_json: bool, quiet: bool, explain: bool = False) -> None:
    """The table on standard output and the notes on standard error, or the JSON document alone.

    Notes are brief, unless everything is to be explained: then so is every status.
    """
    if as_json:
        from distmom.report.write import json_pieces

        for piece in json_pieces(results, ensure_ascii=not _utf8()):
            write_stdout(piece)
        return
    _show_table(results)
    if not quiet:
        from distmom.cli.brief import brief
        from distmom.report.text import Remarks

        remarks, said = Remarks.of(results), wording()
        for line in remarks.lines(str if explain else brief):
            tell("note", said(line))
        for line in _explained(results) if explain else _hint(results, cut=remarks.changed_by(brief)):
            tell("explanation", line)


def _hint(results: Results, *, cut: bool) -> list[str]:
    """Where to read more: about notes that were cut, and about the gravest status."""
    from distmom.report.of_many import doubtful_statuses

    doubtful = doubtful_statuses(results)
    ways = ["--explain"] * cut + [f"distmom explain '{status}'" for status in doubtful[:1]]
    return [f"details: {', or '.join(ways)}"] if ways else []


def _explained(results: Results) -> list[str]:
    """The meaning of every status."""
    from distmom.cli.meanings.lookup import meaning_of
    from distmom.report.of_many import told_statuses

    return [one.text() for status in told_statuses(results) for one in meaning_of(str(status))]


def show_json(document: dict[str, Any]) -> None:
    """One JSON document on standard output."""
    text = json.dumps(document, indent=1, allow_nan=False, ensure_ascii=not _utf8())
    write_stdout(text + "\n")


def show_plan(plan: dict[str, Any], *, as_json: bool) -> None:
    """What a run would do: a line for each number, or a JSON document with no results."""
    if as_json:
        show_json(plan_document(plan))
        return
    shown = {
        k: counted(len(v), "file") if k == "skipped" else v for k, v in plan.items() if v not in (None, [])
    }
    width = max(map(len, shown)) + 2
    lines = (f"{name.replace('_', ' '):{width}}{_number(value)}\n" for name, value in shown.items())
    write_stdout("".join(lines) + "nothing was read; run without --dry-run to get the answer\n")


def plan_document(plan: dict[str, Any]) -> dict[str, Any]:
    """The plan in the form that every command's JSON has."""
    from distmom.estimators.versions import versions
    from distmom.report.results import SCHEMA_VERSION

    numbers = {k: v for k, v in plan.items() if k not in ("seed", "skipped")}
    return {
        "schema_version": SCHEMA_VERSION,
        "results": [],
        "data": {"n_files": plan["n_files"], "n_bytes": plan["n_bytes"], "skipped": plan["skipped"]},
        "run": {
            "seconds": None,
            "seed": plan["seed"],
            "workers": plan["threads"],
            "versions": versions(),
        },
        "plan": numbers,
    }


def _show_table(results: Results) -> None:
    from rich.console import Console

    from distmom.report.text import MOST_PRINTED, UNLIMITED, as_table, shown, table_text, widths

    few, cut = shown(results, MOST_PRINTED, "--output FILE (.parquet, .csv, .json) has all")
    if sys.stdout is None or not sys.stdout.isatty():
        text = "\n".join([table_text(few, UNLIMITED), *cut])
        write_stdout((text if _utf8() else text.replace("─", "-").replace("…", "..")) + "\n")
        return
    terminal = Console()
    for number, table in enumerate((as_table(few), *few.more_tables())):
        # on a narrow terminal its own line breaks take over, so that no number is cut
        wide = Console(
            width=max(terminal.width, widths(table).minimum), markup=False, emoji=False, highlight=False
        )
        with wide.capture() as captured:
            wide.print(table)
        write_stdout("\n" * (number > 0) + captured.get())
    closing = few.closing()
    if closing:
        write_stdout("\n" + "\n".join(closing) + "\n")
    write_stdout("".join(line + "\n" for line in cut))


def _utf8() -> bool:
    return (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "") == "utf8"


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
