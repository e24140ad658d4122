"""Columns of the lake that a command line names."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from distmom.cli.completion.footer import column_names

MOST = 1_000
"""Maximum number of folder entries that are searched for a Parquet file."""


def columns_of(words: Iterable[str]) -> list[str]:
    """Columns of the first file of the lakes among these words, and keys of its folders (``day=1``)."""
    names: dict[str, None] = {}
    for word in words:
        for file in islice(_files(word), 1):
            keys = [part.partition("=")[0] for part in file.parts[:-1] if "=" in part.strip("=")]
            names |= dict.fromkeys([*column_names(file), *keys])
    return list(names)


def _files(word: str) -> Iterator[Path]:
    """Local Parquet files that a word refers to; for a folder, the first one found."""
    if "://" in word or not word:
        return
    if word.startswith("@"):
        with Path(word[1:]).open(encoding="utf-8-sig") as lines:
            for line in islice(lines, MOST):
                if line.strip() and not line.startswith(("#", "@")):
                    yield from _files(line.strip())
        return
    path = Path(word).expanduser()
    for found in [path] if path.exists() else _matching(path):
        yield from _below(found) if found.is_dir() else [found]


def _matching(pattern: Path) -> Iterator[Path]:
    """Paths that a pattern matches."""
    root = Path(pattern.anchor or ".")
    yield from islice(root.glob(str(pattern.relative_to(pattern.anchor))), MOST)


def _below(folder: Path) -> Iterator[Path]:
    """Files that end in .parquet, none of hidden folders."""
    seen = 0
    for at, folders, files in os.walk(folder):
        folders[:] = sorted(one for one in folders if not one.startswith((".", "_")))
        yield from (Path(at, one) for one in sorted(files) if one.endswith(".parquet"))
        seen += len(folders) + len(files)
        if seen > MOST:
            return
