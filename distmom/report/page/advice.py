"""What to do about a status, with the options of the command that reported it."""

from __future__ import annotations

from collections.abc import Iterable

from distmom.meanings import STATUSES, StatusMeaning
from distmom.remedies import AGAIN
from distmom.report.result import Result
from distmom.status import Status

ROWS: dict[str, StatusMeaning] = {status: row for row in STATUSES for status in row.statuses}


def _sentence(text: str) -> str:
    """A cell of the table as a sentence of a page."""
    plain = text.replace("`", "")
    return f"{plain[0].upper()}{plain[1:]}."


NOTHING = _sentence(ROWS[Status.OK].do)

DESCRIBE = "Run 'distmom describe' (dm.describe) on the same data: it names the bad files."


def advice(result: Result) -> tuple[str, ...]:
    """What to do about each status of a result."""
    rows = [ROWS[word] for word in (result.flags or (result.status,))]
    found = [_sentence(row.advice(result.remedies, asked_again(result))) for row in rows if row.do]
    outlying = {Status.CONTAMINATED, Status.FILES_DISAGREE, Status.BREAKDOWN_POINT_EXCEEDED}.intersection(
        result.flags
    )
    known = getattr(result, "files_named", False)
    return (*found, *([DESCRIBE] if outlying and not known else ()))


def meanings(results: Iterable[Result]) -> tuple[str, ...]:
    """The meaning of each status that needs attention, each once."""
    words = dict.fromkeys(word for r in results for word in (r.flags or (r.status,)))
    return tuple(f"{word}: {ROWS[word].meaning.replace('`', '')}." for word in words if not word.fine)


def asked_again(result: Result) -> str:
    """How to run again with other options: those of saved sums are fixed."""
    return AGAIN[result.run.get("sums", "run")]
