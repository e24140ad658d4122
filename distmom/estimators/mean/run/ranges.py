"""Very many groups: the answers for the groups of each range of keys, one range after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from distmom.cluster.memory import give_back
from distmom.estimators.mean.answer import AnswerColumns, results_of
from distmom.estimators.mean.counts import check_state
from distmom.estimators.mean.far_groups import GroupsLook, look_at_hashes
from distmom.estimators.mean.partition import PartitionFields
from distmom.estimators.mean.run.passes import OwnCuts, run_range, within_cuts
from distmom.inference.share.look import Look
from distmom.numerics.hash_ranges import HashRange
from distmom.numerics.samples.pool import all_in_order
from distmom.passes.key_ranges import next_range, room_for_groups
from distmom.passes.on_disk import RecordFile
from distmom.reductions.keyed_pools import KEY_BYTES

if TYPE_CHECKING:
    from distmom.cluster import Executor, Progress
    from distmom.cluster.work import SkippedFile
    from distmom.estimators.mean.plan import MeanPlan
    from distmom.reductions.ranged import RangedState
    from distmom.reductions.sparse_state import SparseState
    from distmom.reductions.state import Key, MeanState

LooksOf = Callable[[tuple[Look, ...]], tuple[Look, ...]]
CutsOf = Callable[[tuple[Look, ...], list[GroupsLook]], OwnCuts | None]


class AnswersOfRanges(NamedTuple):
    """The results of the groups of all ranges, the skipped files, and all keys.

    `let_go` releases the memory of answers that have been read.
    """

    parts: list[list[AnswerColumns]]
    skipped: list[SkippedFile]
    keys: list[Key]
    let_go: Callable[[], None]


def answers_by_ranges(
    plan: MeanPlan,
    n_keys: int,
    executor: Executor,
    progress: Progress | None,
    looks_of: LooksOf,
    cuts_of: CutsOf,
) -> AnswersOfRanges:
    """The results of the groups of each range of keys.

    Only the first pass samples the rows of whole columns, so what stands apart does not depend on the ranges.
    """
    means = plan.reduction
    later = replace(plan, reduction=replace(means, pool_size=0))
    parts: list[list[AnswerColumns]] = []
    keys: list[Key] = []
    skipped: list[SkippedFile] = []
    looks: tuple[Look, ...] | None = None
    within, largest = HashRange(), 0
    with RecordFile(executor.scratch) as file:
        while looks is None or not within.last:
            results = KEY_BYTES * len(keys) + sum(columns.nbytes for part in parts for columns in part)
            room = room_for_groups(executor, plan.memory, means, len(keys), results)
            now = plan if looks is None else later
            if looks is not None:
                within = next_range(within, largest, room)
            found, left_out, largest = run_range(now, n_keys, executor, progress, within, room)
            if looks is None:
                skipped = left_out
                looks = looks_of(tuple(map(Look, all_in_order(found.pools))))
            within, second = within.ending(found.high), None
            if found.state is None or not found.state.n_groups:
                continue
            state = found.state
            cuts = cuts_of(looks, look_at_hashes(looks, state.hashes))
            if cuts is not None:
                known = tuple(state.keys[cuts.own].tolist())
                cut = within_cuts(later, cuts)
                second, _, _ = run_range(cut, n_keys, executor, progress, within, room, known)
                within = within.ending(second.high)
                state = state.within(HashRange(high=second.high))
            at_once = max(1, int(room.answered) // means.state_bytes())
            mine = [
                results_of(plan, piece.dense(), looks, look_at_hashes(looks, piece.hashes), kept)
                for piece, kept in pieces_of(state, second, at_once)
            ]
            parts += on_disk(mine, file)
            file.mapped.let_go()
            keys += state.keys.tolist()
            del found, second, state, mine
            give_back()
            executor.account.check()
    check_state(parts or None, skipped, filtered=plan.reader.options.where is not None)
    return AnswersOfRanges(parts, skipped, keys, file.mapped.let_go)


def on_disk(parts: list[list[AnswerColumns]], file: RecordFile) -> list[list[AnswerColumns]]:
    """The same answers with their numbers on disk, if they come from the rule."""
    rules = [c.every.found for part in parts for c in part if isinstance(c.every, PartitionFields)]
    put = iter(file.put([found.answer for found in rules]))

    def moved(columns: AnswerColumns) -> AnswerColumns:
        every = columns.every
        if not isinstance(every, PartitionFields):
            return columns
        return replace(columns, every=replace(every, found=every.found.with_equal(next(put))))

    return [[moved(columns) for columns in part] for part in parts]


def pieces_of(
    found: SparseState, second: RangedState | None, n: int
) -> Iterator[tuple[SparseState, MeanState | None]]:
    """At most `n` groups at a time, and their part of the second pass."""
    for piece in found.pieces(n):
        kept = None
        if second is not None:
            ends = HashRange(int(piece.hashes[0]), int(piece.hashes[-1]) + 1)
            kept = (piece.groups(0, 0) if second.state is None else second.state.within(ends)).dense()
        yield piece, kept
