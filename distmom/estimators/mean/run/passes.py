"""One pass over the units of a plan: its merged state, for all groups or for those of a range of keys."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from distmom.cluster import run_units
from distmom.cluster.work import ReadAndReduce, SkippedFile
from distmom.errors import ResourceError
from distmom.estimators.mean.counts import check_state
from distmom.passes.key_ranges import RangeMerger, Room
from distmom.reductions.ranged import RangedMeans, RangedState

if TYPE_CHECKING:
    from distmom.cluster import Executor, Progress
    from distmom.estimators.mean.checkpoint import Keeper
    from distmom.estimators.mean.far_rows import Cuts
    from distmom.estimators.mean.plan import MeanPlan
    from distmom.lake import Source
    from distmom.numerics.hash_ranges import HashRange
    from distmom.passes.riding import Rider
    from distmom.reductions.state import Key


class OwnCuts(NamedTuple):
    """The range of values to keep in each column, and the groups with ends of their own."""

    cuts: tuple[Cuts, ...]
    own: list[int]


def within_cuts(plan: MeanPlan, cuts: OwnCuts) -> MeanPlan:
    """The pass over the rows within the cuts."""
    return replace(plan, reduction=replace(plan.reduction, cuts=cuts.cuts, pool_size=0))


def run_plan(
    plan: MeanPlan,
    n_keys: int,
    executor: Executor,
    progress: Progress | None,
    keeper: Keeper | None = None,
    known: tuple[Key, ...] = (),
) -> tuple[Any, list[SkippedFile]]:
    """Run the units; return the merged state and the skipped files.

    Groups with `known` keys get the first numbers in each unit.
    """
    work = work_of(plan, plan.reduction, n_keys, known)
    if keeper is None:
        merge, grows = plan.reduction.merge, plan.reduction.grouped
        found = run_units(work, plan.units, merge, executor, progress=progress, grows=grows)
        state, skipped = found.state, [*plan.skipped, *found.skipped]
    else:
        state, skipped = keeper.run(plan, work, executor, progress)
    check_state(state, skipped, filtered=plan.reader.options.where is not None)
    return state, skipped


def mounted(rider: Rider, plan: MeanPlan, source: Source, executor: Executor) -> bool:
    """Whether the rider joins the pass: there is memory for both."""
    with suppress(ResourceError):
        plan.check_memory(executor, rider.memory)
        return rider.mount(source, plan.reader, plan.reduction)
    return False


def run_with(
    rider: Rider, plan: MeanPlan, executor: Executor, progress: Progress | None
) -> tuple[Any, list[SkippedFile]]:
    """The same without groups, with a mounted rider, which gets no state if a file is skipped."""
    assert rider.mounted is not None
    reader, both = rider.mounted
    work = replace(work_of(plan, both, 0, ()), reader=reader)
    found = run_units(work, plan.units, both.merge, executor, progress=progress)
    state, skipped = found.state, [*plan.skipped, *found.skipped]
    check_state(state, skipped, filtered=plan.reader.options.where is not None)
    rider.state = None if skipped else state.second
    return state.first, skipped


def run_range(
    plan: MeanPlan,
    n_keys: int,
    executor: Executor,
    progress: Progress | None,
    within: HashRange,
    room: Room,
    known: tuple[Key, ...] = (),
) -> tuple[RangedState, list[SkippedFile], int]:
    """Run the units for keys within a range; also return the most bytes that the groups took."""
    reduction = RangedMeans(plan.reduction, len(known), room.unit)
    work = work_of(plan, reduction, n_keys, known, within)
    n_files = max((unit.first_file + len(unit.files) for unit in plan.units), default=0)
    merger = RangeMerger(n_files, reduction.merge, within, room.merged)
    found = run_units(
        work, plan.units, reduction.merge, executor, progress=progress, merger=merger, grows=True
    )
    skipped = [*plan.skipped, *found.skipped]
    check_state(found.state, skipped, filtered=plan.reader.options.where is not None)
    return found.state, skipped, merger.largest


def work_of(
    plan: MeanPlan, reduction: Any, n_keys: int, known: tuple[Key, ...], within: HashRange | None = None
) -> ReadAndReduce:
    """What each unit of the plan does."""
    return ReadAndReduce(
        plan.reader,
        reduction,
        n_keys,
        plan.options.on_bad_file,  # type: ignore[arg-type]
        unit_seed=plan.reduction.seed if plan.reader.options.units or within is not None else None,
        compiled=plan.reduction.compiled,
        known=known,
        within=within,
    )
