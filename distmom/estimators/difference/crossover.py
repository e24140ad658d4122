"""Units that are in several variants left out, where the caller wants it: one pass finds them."""

from __future__ import annotations

from typing import Any

from distmom.cluster import Executor, Progress, run_units
from distmom.cluster.work import ReadAndReduce
from distmom.errors import ConfigError
from distmom.estimators.mean.plan import MeanPlan
from distmom.lake.filters import as_filter
from distmom.lake.keys.keybytes import whole_key_bytes
from distmom.lake.keys.keyvalues import NULL
from distmom.lake.other_units import OtherUnits
from distmom.passes.scan import Scan
from distmom.reductions.crossing_units import CrossingUnits

CROSSOVER = ("keep", "omit")


def check_crossover(crossover: str, unit: Any) -> None:
    """ConfigError if units are to be left out, and there are none that have columns."""
    if crossover == "omit" and (unit is None or unit == "file"):
        raise ConfigError(
            "crossover: 'omit' leaves out units in several variants; name the columns of units as unit"
        )


def without_crossover(
    scan: Scan, plan: MeanPlan, executor: Executor, progress: Progress | None
) -> tuple[Scan, int]:
    """The scan without the units that are in several variants, and how many these are.

    ConfigError of data that can be read once only.
    """
    if scan.source.one_pass:
        raise ConfigError(
            "crossover: 'omit' reads the rows twice, and a stream can be read only once; give a table"
        )
    seed, reduction = plan.reduction.seed, CrossingUnits((NULL,), whole_key_bytes)
    work = ReadAndReduce(
        plan.reader,
        reduction,
        n_keys=1,
        on_bad_file=plan.options.on_bad_file,  # type: ignore[arg-type]
        unit_seed=seed,
        compiled=plan.reduction.compiled,
    )
    found = run_units(work, plan.units, reduction.merge, executor, progress=progress).state
    crossing = found.crossing()
    columns = tuple(plan.options.design.columns)
    return scan.instead(
        OtherUnits(columns, crossing, seed, as_filter(scan.where, scan.source))
    ), crossing.size
