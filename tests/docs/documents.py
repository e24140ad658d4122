"""The pages that strangers read, README and all of docs/, and their fenced blocks."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

FENCE = re.compile(r"^(`{3,})([^\s`]*)[^\n]*\n(.*?)^\1 *$", re.M | re.S)


@dataclass(frozen=True)
class Block:
    """A fenced block, and the number of the line on which its text begins."""

    language: str
    text: str
    line: int


def pages() -> dict[str, str]:
    """The text of each page, by its path below the root."""
    files = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
    return {str(file.relative_to(ROOT)): file.read_text("utf-8") for file in files}


def blocks(text: str) -> list[Block]:
    return [Block(m[2], m[3], text.count("\n", 0, m.start()) + 2) for m in FENCE.finditer(text)]


def prose(text: str) -> str:
    """A page without its fenced blocks."""
    return FENCE.sub("", text)
