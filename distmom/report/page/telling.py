"""What reports say about every kind of result: status, advice, assumptions, data, how to run it again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from distmom.report import excluded
from distmom.report.again import Again
from distmom.report.of_many import total_left_out
from distmom.report.page.advice import NOTHING, advice, meanings
from distmom.report.page.parts import MOODS, NOTES, Advice, Block, Code, Facts, Grid, Listing, Mood
from distmom.report.page.pictures import Picture
from distmom.report.result import Result
from distmom.report.results import Results
from distmom.report.text import each_once
from distmom.report.words import cell, listed
from distmom.words import counted, printable

MOST_FILES, OPEN_LINES = 30, 5
"""Most names of files in a page; lists with more lines than the second number are collapsed."""

SHELL, PYTHON = "In a shell:", "In Python (import distmom as dm):"

MISSING = {"null": "missing (null)", "NaN": "missing (NaN)"}


@dataclass(frozen=True)
class Telling:
    """One result in words, figures and pictures.

    Attributes
    ----------
    heading : str
    answer : tuple of str
        Sentences, the first one the result itself.
    facts : tuple of (str, str)
    pictures : tuple
    assumptions : tuple of str
    mood : str
    do : tuple of str
        What to do.
    """

    heading: str
    answer: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    pictures: tuple[Picture, ...]
    assumptions: tuple[str, ...]
    mood: Mood
    do: tuple[str, ...]


def told(result: Result) -> Telling:
    """Present a result of any kind, from the common fields."""
    name, facts = heading(result), shown_facts(result)
    shown = [f"{what} {value}" for what, value in facts if value not in ("", "-")]
    answer = f"{name}: {', '.join(shown)}."
    return Telling(name, (answer,), facts, (), (), mood(result), advice(result))


def shown_facts(result: Result) -> tuple[tuple[str, str], ...]:
    """The figures of its first table line, with their headers."""
    (_, numbers), *_ = result.lines()
    return tuple(zip(result.headers(), (n.strip() for n in numbers), strict=True))


def heading(result: Result) -> str:
    """Name of a result, with its group."""
    name = cell(result.name)
    if result.group:
        name += " | " + ", ".join(f"{cell(key)} = {cell(value)}" for key, value in result.group.items())
    return name


def mood(result: Result) -> Mood:
    """How reliable a result is."""
    return "bad" if result.status.no_answer else "good" if result.ok else "look"


def gravest(moods: Iterable[Mood]) -> Mood:
    """The mood of several results together."""
    return min(moods, key=MOODS.index, default="good")


def verdict(results: Results, tellings: Iterable[Telling]) -> tuple[Mood, str]:
    """The most serious mood of several results, and their statuses."""
    worst = gravest(t.mood for t in tellings)
    drifted = sum(
        getattr(r, "drifted", None) is True for r in results
    )  # no status: the comparison is in order
    if len(results) == 1:
        own = [] if drifted and results[0].words == "ok" else [results[0].words]
        return worst, "; ".join([*["samples differ"] * drifted, *own])
    counts = Counter(r.status for r in results)
    what = "results" if any(r.group for r in results) else results[0].several
    words = sorted(counts, key=lambda word: (word.fine, word != "ok", -counts[word]))
    told = [f"{word}: {counts[word]:,}" for word in words]
    if drifted:  # ok is that of the estimates: beside the finding it would read as its opposite
        told = [f"samples differ: {drifted:,}", *(told if words != ["ok"] else [])]
    return worst, "; ".join([f"{told[0]} of {len(results):,} {what}", *told[1:]])


def advice_block(tellings: Iterable[Telling]) -> Advice:
    """What to do about all results, each advice once."""
    every = list(tellings)
    worst = gravest(t.mood for t in every)
    lines = list(dict.fromkeys(line for t in every for line in t.do))
    if worst != "good":
        lines = [line for line in lines if line != NOTHING]
    return Advice(worst, "What to do", tuple(lines))


def notes_block(results: Results) -> list[Block]:
    """Notes that require no action and are not in the data block."""
    if len(results) == 1:
        found = [f"{note[0].upper()}{note[1:]}." for note in results[0].notes if note]
    else:
        found = [f"{line}." for line in each_once(results, [r.notes for r in results])]
    return [Listing(NOTES, tuple(found), folded=len(found) > OPEN_LINES)] if found else []


def files_block(files: Sequence[str], run: dict[str, Any], *, named: bool) -> list[Block]:
    """The bad files, or the files that include them, and how to leave them out."""
    if not files:
        return []
    shown = tuple(cell(name) for name in files[:MOST_FILES])
    more = f"{len(files) - MOST_FILES:,} more are in the JSON document." if len(files) > MOST_FILES else ""
    caption = (
        "Files were compared in small blocks of whole files: a good one that shares its block with a bad one "
        f"is listed, too. 'distmom describe' looks at each file alone. {more}"
    ).strip()
    head = f"The bad files are among these {len(files):,}"
    sure = named or len(files) == 1
    codes = leave_out(files, run) if sure else []
    if codes and len(files) <= excluded.FEW:  # the line names them
        who, whose = ("this file", "its") if len(files) == 1 else ("these files", "their")
        head = f"Leave {who} out and run again: {whose} values differ from the rest"
        return [replace(code, heading=head) for code in codes]
    if sure:
        one, caption = "This file holds other values", more
        head = one if len(files) == 1 else f"These {len(files):,} files hold other values than the rest"
    listing = Listing(head, shown, caption, names=True, folded=len(shown) > OPEN_LINES)
    return [listing, *codes]


def leave_out(files: Sequence[str], run: dict[str, Any]) -> list[Code]:
    """How to run again without files that are known to be bad; nothing for data in memory."""
    again: Again = run.get("again", Again())
    if not again.of_files or not files or not all(map(str.isprintable, files)):
        return []
    shell, python = again.command(files), f"found = {printable(again.python(files))}"
    lines = ((SHELL, shell), (PYTHON, python)) if shell else ((PYTHON, python),)
    who = "this file" if len(files) == 1 else "these files"
    return [Code(f"Leave {who} out and run again", lines, excluded.files(files))]


def meanings_block(results: Results) -> list[Block]:
    """What the statuses mean."""
    lines = meanings(results)
    head = f"What the status{'es mean' if len(lines) > 1 else ' means'}"
    return [Listing(head, lines, folded=True)] if lines else []


def data_block(results: Results) -> list[Block]:
    """What was read: files, rows of each column, what was left out."""
    data = results.data
    facts = (("data", data.get("source")), ("only rows where", data.get("where")))
    rows = [(name, _short(value)) for name, value in facts if value is not None]
    if data.get("n_files"):
        rows.append(("files", f"{data['n_files']:,} ({size(data.get('n_bytes', 0))})"))
    names = list(dict.fromkeys(r.name for r in results))
    told = {name: _rows_of([r for r in results if r.name == name]) for name in names}
    for text in dict.fromkeys(told.values()):
        mine = [cell(name) for name in names if told[name] == text]
        rows.append(("rows" if len(mine) == len(names) else f"rows, {listed(mine)}", text))
    state = data.get("state")
    if state:
        text = f"{counted(state['n_files_read'], 'file')} read now, {state['n_files_before']:,} known before"
        rows.append((f"state {cell(state['file'])}", text))
    blocks: list[Block] = [Facts("The data", tuple(rows))]
    skipped = data.get("skipped") or []
    if skipped:
        lines = tuple((cell(s["file"]), cell(s["reason"])) for s in skipped[:MOST_FILES])
        head = f"Files skipped: {len(skipped):,}. Their rows are missing from the result"
        marked, many = (True,) * len(lines), len(lines) > OPEN_LINES
        blocks.append(Grid(head, ("file", "reason"), (False, False), lines, marked, folded=many))
    if broken := data.get("left_out"):
        lines = tuple((cell(one["column"]), cell(one["reason"])) for one in broken)
        head = f"Columns left out: {len(broken):,}. They are damaged in some file"
        blocks.append(Grid(head, ("column", "reason"), (False, False), lines, (True,) * len(lines)))
    return blocks


def _rows_of(mine: list[Result]) -> str:
    total = sum(r.n_rows for r in mine)
    used = sum(r.n_used or 0 for r in mine)
    told = [f"{n:,} {MISSING.get(kind, kind)}" for kind, n in total_left_out(mine).items() if n]
    tail = f"; {', '.join(told)}" if told else "; none missing" if used == total else ""
    return f"{total:,}, {'all' if used == total else f'{used:,}'} used{tail}" if used else f"{total:,}{tail}"


def again_block(run: dict[str, Any]) -> Code:
    """The command, the call, the seed."""
    again: Again = run.get("again", Again())
    commands = (SHELL, again.command() or run.get("command")), (PYTHON, printable(again.python()))
    lines = [(where, str(text)) for where, text in commands if text]
    threads, seconds, seed = run.get("workers"), run.get("seconds"), run.get("seed")
    if seed is not None:
        text = f"The same data, seed {seed} and versions give the same digits on any number of threads."
        text += f" It took {seconds:.2g} s on {threads} threads." if seconds and threads else ""
        (name, first), *others = lines or [("The same call with", f"rng={seed!r}")]
        lines = [(f"{text} {name}", first), *others]
    return Code("Run it again", tuple(lines), folded=True)


def closing_blocks(results: Results, assumptions: Sequence[str]) -> tuple[Block, ...]:
    """The last blocks of a report: data, assumptions, how to run it again."""
    lines = tuple(dict.fromkeys(assumptions))
    rests = [Listing("Assumptions", lines, folded=True)] if assumptions else []
    return (*data_block(results), *rests, again_block(results.run))


def interval_words(level: str, interval: str, reason: str | None = None) -> str:
    """An interval as in tables, in brackets after its estimate."""
    if interval == "-":
        return "no interval" + (f": {reason}" if reason else "")
    return f"{level} CI: {interval.replace(' … ', ' to ')}"


def _short(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return listed(map(_short, value))
    return cell(value)


def size(n_bytes: int) -> str:
    """Bytes for people."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= factor:
            return f"{n_bytes / factor:,.3g} {unit}"
    return f"{n_bytes:,} bytes"
