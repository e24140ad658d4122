"""What a result says of the data that was read and of the run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from distmom.estimators.versions import versions
from distmom.lake import Lake
from distmom.report import Results
from distmom.report.on_demand import OnDemand

if TYPE_CHECKING:
    from distmom.cluster.work import SkippedFile
    from distmom.lake import FileRef, Source


def data_facts(files: Sequence[FileRef], skipped: Iterable[SkippedFile], *sources: Source) -> dict[str, Any]:
    """What was read: number and bytes of the files, those that were left out, and the versions of tables."""
    return {
        "n_files": len(files),
        "n_bytes": sum(file.size for file in files),
        "skipped": [record._asdict() for record in skipped],
        **table_facts(*sources),
    }


def facts_of_samples(data: Sequence[Any], passes: Sequence[Any]) -> dict[str, Any]:
    """What passes over several samples read, of which `data` are given one after the other, again and again.

    A file of several samples is one file, though of lakes that name theirs alike it is one of each.
    """
    homes = [getattr(one.source, "address", None) for one in passes[: len(data)]]
    if None in homes:
        homes = [next(i for i, other in enumerate(data) if other is one) for one in data]
    pairs = list(zip(homes * (len(passes) // len(homes)), passes, strict=True))
    files = {(home, file.path): file for home, one in pairs for file in one.plan.files}
    skipped = {(home, record.file): record for home, one in pairs for record in one.skipped}
    return data_facts(list(files.values()), skipped.values(), *(one.source for one in passes))


def table_facts(*sources: Source) -> dict[str, Any]:
    """``tables``: format, version and place of each table among the sources, once; nothing without any."""
    tables = [s for s in sources if isinstance(s, Lake) and s.table is not None]
    every = [{**s.table._asdict(), "path": s.address} for s in tables if s.table is not None]
    found = [one for i, one in enumerate(every) if one not in every[:i]]
    return {"tables": found} if found else {}


def run_facts(seconds: float, seed: int | str, workers: int) -> dict[str, Any]:
    """How long it took, the seed that repeats it, threads, versions."""
    return {"seconds": seconds, "seed": seed, "workers": workers, "versions": versions()}


def told(results: Sequence[Any], data: dict[str, Any], run: dict[str, Any], *, several: bool = False) -> Any:
    """Results with what is to be said of data and run: a single one alone, unless `several` are expected."""
    if isinstance(results, OnDemand):
        results = results.told(data=data, run=run)
    else:
        for result in results:  # in place: copies of thirty fields would take long where groups are many
            vars(result).update(data=data, run=run)
    return results[0] if len(results) == 1 and not several else Results(results, data, run)
