"""What a result says of the data that was read and of the run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from distmom.estimators.versions import versions

if TYPE_CHECKING:
    from distmom.cluster.work import SkippedFile
    from distmom.lake import FileRef


def data_facts(files: Sequence[FileRef], skipped: Iterable[SkippedFile]) -> dict[str, Any]:
    """What was read: number and bytes of the files, and those that were left out."""
    return {
        "n_files": len(files),
        "n_bytes": sum(file.size for file in files),
        "skipped": [record._asdict() for record in skipped],
    }


def run_facts(seconds: float, seed: int | str, workers: int) -> dict[str, Any]:
    """How long it took, the seed that repeats it, threads, versions."""
    return {"seconds": seconds, "seed": seed, "workers": workers, "versions": versions()}
