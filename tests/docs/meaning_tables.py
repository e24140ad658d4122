"""Tables of docs/reference/statuses.md, made of those of ``distmom explain``.

``python tests/docs/meaning_tables.py`` writes them into the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from distmom.cli.meanings.codes import CODES
from distmom.cli.meanings.intervals import INTERVALS
from distmom.cli.meanings.notes import SUBJECTS
from distmom.meanings import STATUSES

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "statuses.md"
MARKED = re.compile(r"(<!-- (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [heads, ("---",) * len(heads), *rows]
    return "".join("|" + "".join(f" {cell} |" if cell else " |" for cell in cells) + "\n" for cells in lines)


def words(statuses: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in statuses)


def tables() -> dict[str, str]:
    """The tables by the marks around them."""
    return {
        "statuses": table(
            ("status", "what it means", "what was done", "what to do", "code"),
            (
                (
                    ", ".join(f"`{word}`" for word in row.statuses),
                    row.meaning,
                    row.done,
                    row.advice(),
                    str(row.code),
                )
                for row in STATUSES
            ),
        ),
        "codes": table(
            ("code", "meaning", "what to do"), ((str(one.number), one.meaning, one.do) for one in CODES)
        ),
        "intervals": table(
            ("kind", "what it is", "when"), ((f"`{one.word}`", one.meaning, one.do) for one in INTERVALS)
        ),
        "notes": table(
            ("subject", "what it means", "what to do"), ((one.word, one.meaning, one.do) for one in SUBJECTS)
        ),
    }


def with_tables(page: str) -> str:
    """The page with its tables as they should be."""
    made = tables()
    return MARKED.sub(lambda found: f"{found[1]}{made[found[2]]}{found[3]}", page)


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text("utf-8")), "utf-8")
