"""How files are named that a run leaves out: on its line, or in a file where they are several."""

from __future__ import annotations

from collections.abc import Sequence

from distmom.lake.files.listing import pattern_of

LIST = "bad.txt"
"""What the file with their names is called."""

FEW = 2
"""Names that stand on the line itself."""


def words(names: Sequence[str]) -> list[str]:
    """What `exclude` gets.

    Examples
    --------
    >>> words(["a.parquet"]), words(["a.parquet", "b.parquet", "c.parquet"])
    (['a.parquet'], ['@bad.txt'])
    """
    return [pattern_of(name) for name in names] if len(names) <= FEW else [f"@{LIST}"]


def files(names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """The files that these words need, with their contents."""
    return () if len(names) <= FEW else ((LIST, "".join(f"{pattern_of(name)}\n" for name in names)),)
