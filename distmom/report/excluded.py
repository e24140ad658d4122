"""How to name files that a run leaves out: on the command line, or in a file if there are several."""

from __future__ import annotations

from collections.abc import Sequence

from distmom.lake.files.listing import pattern_of

LIST = "bad.txt"
"""Name of the file with their names."""

FEW = 2
"""Most names on the line itself."""


def words(names: Sequence[str]) -> list[str]:
    """The words for `exclude`.

    Examples
    --------
    >>> words(["a.parquet"]), words(["a.parquet", "b.parquet", "c.parquet"])
    (['a.parquet'], ['@bad.txt'])
    """
    return [pattern_of(name) for name in names] if len(names) <= FEW else [f"@{LIST}"]


def files(names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """The files that these words need, with their contents."""
    return () if len(names) <= FEW else ((LIST, "".join(f"{pattern_of(name)}\n" for name in names)),)
