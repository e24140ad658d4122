"""What every kind of result tells: status, advice, assumptions, data, and how to run it again."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from distmom.report.page.parts import MOODS, Advice, Block, Code, Facts, Grid, Listing, Mood
from distmom.report.page.pictures import Picture
from distmom.report.result import Result
from distmom.report.results import Results
from distmom.report.text import each_once, left_out
from distmom.report.words import cell, listed
from distmom.status import Status
from distmom.words import printable

MOST_FILES = 30
"""Names of files in a page."""

DO: dict[str, str] = {
    "ok": "Nothing stands out. Use the estimate with its interval.",
    "contaminated": (
        "Use the robust estimate, not the plain one. (contaminated: some values are so far out that their "
        "blocks contradict the others. They are wrong, or the data has extremely heavy tails.)"
    ),
    "share set aside": (
        "Find out what the rows are that were left out; if they are real, name them with --where (where) and "
        "estimate them apart. (share set aside: a share of the rows lies far from all others, across a gap, "
        "and would move the mean.)"
    ),
    "share far out": (
        "Look at the rows far out, and leave them out with --where (where) if they are wrong. (share far "
        "out: a share of the rows lies apart from all others, but not so far, or so many, that it must be an "
        "error; it is in the estimate.)"
    ),
    "rows correlated": (
        "Use the estimate with its interval, which allows for that unless blocks or interval were fixed; "
        "where there is none, add files. (rows correlated: rows of a file or folder, or neighbouring rows, "
        "are more alike than others, so they tell less than their number says.)"
    ),
    "files disagree": (
        "Look into the files, correct them or leave them out, and run again. (files disagree: whole files "
        "hold other values than the rest.)"
    ),
    "beyond capacity": (
        "Do not rely on the estimate: find and remove the bad rows or files, or run again with --block-by "
        "file (blocks=FileBlocks()) if whole files are bad, with --fine many (RandomBlocks(fine='many')) if "
        "bad rows are scattered. (beyond capacity: so many blocks are wild that the estimate itself may be "
        "wrong.)"
    ),
    "carried by few rows": (
        "Check that the largest values are real. (carried by few rows: too few rows decide this mean "
        "for blocks to see how it varies; in groups also bad rows that are too many to stand out.)"
    ),
    "plain mean, no guarantee": (
        "Look at the values, or take more of them: there are too few rows, or too few different values, for "
        "blocks. This is the plain mean, which a single wild value can move anywhere."
    ),
    "rows in order": (
        "Write the lake in random order first (DuckDB: ORDER BY random(), Polars: sample(fraction=1, "
        "shuffle=True)) and run again: the order of the rows goes with their values, which biases statistics "
        "of pairs in random blocks."
    ),
    "no finite answer": (
        "Find out where infinite values and NaN come from, or filter those rows out (--where, in Python "
        "where): half or more of the blocks hold some, so there is no answer."
    ),
    "no rows": "No row is left to take a mean of: check the filter, the column and the data.",
}
"""What to do about a status."""

MISSING = {"null": "missing (null)", "NaN": "missing (NaN)"}

DESCRIBE = "Run 'distmom describe' (dm.describe) on the same data: it says which files are bad, and in what."


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
    """A result of whatever kind, from what all have."""
    name, facts = heading(result), shown_facts(result)
    shown = [f"{what} {value}" for what, value in facts if value not in ("", "-")]
    answer = f"{name}: {', '.join(shown)}."
    return Telling(name, (answer,), facts, (), (), mood(result), advice(result))


def shown_facts(result: Result) -> tuple[tuple[str, str], ...]:
    """The figures of its first line in a table, with their headers."""
    (_, numbers), *_ = result.lines()
    return tuple(zip(result.headers(), (n.strip() for n in numbers), strict=True))


def heading(result: Result) -> str:
    """Name of a result, with its group."""
    name = cell(result.name)
    if result.group:
        name += " | " + ", ".join(f"{cell(key)} = {cell(value)}" for key, value in result.group.items())
    return name


def mood(result: Result) -> Mood:
    """How far to rely on a result."""
    return "bad" if result.status.no_answer else "good" if result.ok else "look"


def gravest(moods: Iterable[Mood]) -> Mood:
    """The mood of several results together."""
    return min(moods, key=MOODS.index, default="good")


def advice(result: Result) -> tuple[str, ...]:
    """What to do about each status of a result."""
    found = [DO[word] for word in (result.flags or (result.status,)) if word in DO]
    wild = {Status.CONTAMINATED, Status.FILES_DISAGREE, Status.BEYOND_CAPACITY}.intersection(result.flags)
    return (*found, *([DESCRIBE] if wild else ()))


def verdict(results: Results, tellings: Iterable[Telling]) -> tuple[Mood, str]:
    """The gravest mood of several results, and their statuses."""
    worst = gravest(t.mood for t in tellings)
    if len(results) == 1:
        return worst, results[0].words
    counts = Counter(r.status for r in results)
    what = "results" if any(r.group for r in results) else f"{results[0].heading}s"
    words = sorted(counts, key=lambda word: (word.fine, word != "ok", -counts[word]))
    told = [f"{word}: {counts[word]:,}" for word in words]
    return worst, "; ".join([f"{told[0]} of {len(results):,} {what}", *told[1:]])


def advice_block(tellings: Iterable[Telling]) -> Advice:
    """What to do about all results, each advice once."""
    every = list(tellings)
    worst = gravest(t.mood for t in every)
    lines = list(dict.fromkeys(line for t in every for line in t.do))
    if worst != "good":
        lines = [line for line in lines if line != DO["ok"]]
    return Advice(worst, "What to do", tuple(lines))


def notes_block(results: Results) -> list[Block]:
    """What a reader should know that asks for nothing, and that the data block does not tell."""
    if len(results) == 1:
        found = [f"{note[0].upper()}{note[1:]}." for note in results[0].notes if note]
    else:
        found = [f"{line}." for line in each_once(results, [r.notes for r in results])]
    return [Listing("Also good to know", tuple(found))] if found else []


def files_block(files: Sequence[str], run: dict[str, Any], *, named: bool) -> list[Block]:
    """The bad files, or the files among which they are, and how to leave them out."""
    if not files:
        return []
    shown = tuple(cell(name) for name in files[:MOST_FILES])
    more = f"{len(files) - MOST_FILES:,} more are in the JSON document." if len(files) > MOST_FILES else ""
    caption = (
        "Files were compared in small blocks of whole files: a good one that shares its block with a bad one "
        f"is listed, too. 'distmom describe' looks at each file alone. {more}"
    ).strip()
    head = f"The bad files are among these {len(files):,}"
    if named or len(files) == 1:
        one, caption = "This file holds other values", more
        head = one if len(files) == 1 else f"These {len(files):,} files hold other values than the rest"
    return [Listing(head, shown, caption, names=True), *leave_out(files, run)]


def leave_out(files: Sequence[str], run: dict[str, Any]) -> list[Code]:
    """How to run again without some files; nothing for data in memory."""
    call = run.get("call", {})
    source = call.get("arguments", {}).get("data")
    if not isinstance(source, str) or source[:1] in ("<", "@"):
        return []
    if not 0 < len(files) <= MOST_FILES or not all(map(str.isprintable, files)):
        return []
    words = shlex.split(run.get("command") or f"distmom {call['function']} {shlex.quote(source)}")
    again = " \\\n    ".join([shlex.join(words), *(f"--exclude {shlex.quote(name)}" for name in files)])
    names, said = ", ".join(map(repr, files)), repr(source)
    scanned = f"{said}, exclude=[{names}]"
    scanned = scanned if "dm.scan(" in call["code"] else f"dm.scan({scanned})"
    python = f"found = {call['code'].replace(said, scanned, 1)}"
    lines = (("In a shell:", again), ("In Python (import distmom as dm):", python))
    return [Code("Leave these files out and run again", lines)]


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
        text = f"{state['n_files_read']:,} files read now, {state['n_files_before']:,} known before"
        rows.append((f"state {cell(state['file'])}", text))
    blocks: list[Block] = [Facts("The data", tuple(rows))]
    skipped = data.get("skipped") or []
    if skipped:
        lines = tuple((cell(s["file"]), cell(s["reason"])) for s in skipped[:MOST_FILES])
        head = f"{len(skipped):,} files were skipped: their rows are missing from the result"
        blocks.append(Grid(head, ("file", "reason"), (False, False), lines, (True,) * len(lines)))
    return blocks


def _rows_of(mine: list[Result]) -> str:
    total = sum(r.n_rows for r in mine)
    used = sum(r.n_used or 0 for r in mine)
    told = [f"{n:,} {MISSING.get(kind, kind)}" for kind, n in left_out(mine).items() if n]
    tail = f"; {', '.join(told)}" if told else "; none missing" if used == total else ""
    return f"{total:,}, of which {used:,} used (they have a value){tail}" if used else f"{total:,}{tail}"


def again_block(run: dict[str, Any]) -> Code:
    """The command, the call, the seed."""
    lines = []
    if run.get("command"):
        lines.append(("In a shell:", _seeded(run)))
    if run.get("call"):
        lines.append(("In Python (import distmom as dm):", printable(run["call"]["code"])))
    threads, seconds, seed = run.get("workers"), run.get("seconds"), run.get("seed")
    if seed is not None:
        text = f"The same data, seed {seed} and versions give the same digits on any number of threads."
        text += f" It took {seconds:.2g} s on {threads} threads." if seconds and threads else ""
        (name, first), *others = lines or [("The same call with", f"rng={seed!r}")]
        lines = [(f"{text} {name}", first), *others]
    return Code("Run it again", tuple(lines))


def _seeded(run: dict[str, Any]) -> str:
    """The command, with the seed that was used if none was given and it can be."""
    command, seed = str(run["command"]), run.get("seed")
    given = re.search(r"(^| )--(seed|rng|state)\b", command)
    return command if given or not isinstance(seed, int) else f"{command} --seed {seed}"


def closing_blocks(results: Results, assumptions: Sequence[str]) -> tuple[Block, ...]:
    """What stands last in a report: data, assumptions, how to run it again."""
    rests = [Listing("What this rests on", tuple(dict.fromkeys(assumptions)))] if assumptions else []
    return (*data_block(results), *rests, again_block(results.run))


def interval_words(level: str, interval: str, reason: str | None = None) -> str:
    """An interval as it stands in tables, in a sentence."""
    if interval == "-":
        return "there is no interval" + (f": {reason}" if reason else "")
    return f"its {level} interval reaches from {interval.replace(' … ', ' to ')}"


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
