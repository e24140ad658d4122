"""What a shuffle did."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from distmom.report.results import SCHEMA_VERSION


@dataclass(frozen=True)
class ShuffleResult:
    """A lake that was written in random order.

    Attributes
    ----------
    output : str
        Its folder.
    n_rows : int
        Rows, as many as were read.
    n_files : int
        Files written.
    n_bytes : int
        Bytes written.
    checksum : str
        Sum of 64-bit hashes of all rows, the same of those read and of those written.
    read_files, read_bytes : int
        Files and bytes that were read.
    seconds : float
    seed : int or str
        Gives the same order of the same lake again.
    workers : int
    versions : dict of str to str
    """

    output: str
    n_rows: int
    n_files: int
    n_bytes: int
    checksum: str
    read_files: int
    read_bytes: int
    seconds: float
    seed: int | str
    workers: int
    versions: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """As JSON, in the form that every command has."""
        fields = asdict(self)
        names = ("seconds", "seed", "workers", "versions")
        run = {name: fields.pop(name) for name in names}
        data = {"n_files": fields.pop("read_files"), "n_bytes": fields.pop("read_bytes"), "skipped": []}
        return {"schema_version": SCHEMA_VERSION, "results": [fields], "data": data, "run": run}

    def __str__(self) -> str:
        return (
            f"{self.n_rows:,} rows of {self.read_files:,} files in random order in {self.n_files:,} files of "
            f"{self.output} ({self.n_bytes / 1e6:,.1f} MB, {self.seconds:.1f} s, seed {self.seed}); "
            f"count and checksum {self.checksum} agree"
        )
