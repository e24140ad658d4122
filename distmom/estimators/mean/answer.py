"""From the state of a run to results: for each column, or for vectors of all columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from distmom.errors import NoAnswerError
from distmom.estimators.facts import told
from distmom.estimators.mean.counts import PerGroup, SharedFields, fields_of_groups, named_in, why_not_finite
from distmom.estimators.mean.far_groups import GroupsLook, look_at_groups, settle_groups
from distmom.estimators.mean.far_rows import Found, looks_of
from distmom.estimators.mean.notes import value_notes
from distmom.estimators.mean.partition import PartitionFields, partition_fields
from distmom.estimators.mean.rule.answers import answer_columns, answers_apart, method_of, promise_of
from distmom.estimators.mean.rule.together import fields_of_columns
from distmom.inference.samples import Samples, Width, paper_sample_margin, resampled_width
from distmom.inference.share.look import Look
from distmom.numerics.blocks.block_state import BlockState
from distmom.numerics.median import lower_median
from distmom.reductions.state import Key, MeanState
from distmom.report import MeanResult, Results, VectorResult
from distmom.report.of_many import total_left_out
from distmom.report.on_demand import OnDemand
from distmom.report.times import as_times
from distmom.theory.variances import mean_variance, row_inverse_inclusion

if TYPE_CHECKING:
    from distmom.estimators.mean.plan import MeanPlan
    from distmom.lake.columns.times import TimeScale
    from distmom.status import Status

SHARED_BYTES, EVERY_BYTES, FIELDS_BYTES = 60, 60, 3_000
"""Bytes per group: arrays of counts and flags; and the fields of a result, if these are made at once."""

MANY = 1_000
"""From this number on, results are made on demand; fewer are made at once."""


@dataclass(frozen=True)
class AnswerColumns:
    """The answers for a column, or for vectors, in all groups, from which `ResultColumns` makes results."""

    kind: type[MeanResult | VectorResult]
    column: str
    shared: PerGroup
    every: PerGroup
    changed: dict[int, dict[str, Any]]
    scale: TimeScale | None = None

    @property
    def name(self) -> str:  # noqa: D102
        return self.column

    def __len__(self) -> int:
        return len(self.shared)

    @property
    def nbytes(self) -> int:
        """Approximate bytes in memory, without the keys and data on disk."""
        shared = SHARED_BYTES if isinstance(self.shared, SharedFields) else FIELDS_BYTES
        return (shared + EVERY_BYTES) * len(self) + FIELDS_BYTES * len(self.changed)

    def group(self, g: int) -> dict[str, Any] | None:  # noqa: D102
        if isinstance(self.shared, SharedFields):
            return self.shared.group(g)
        return self.shared[g]["group"]  # type: ignore[no-any-return]

    def flags(self, g: int) -> tuple[Status, ...]:  # noqa: D102
        changed = self.changed.get(g, {})
        if "flags" not in changed and isinstance(self.every, PartitionFields):
            return self.every.flags(g)
        return (changed if "flags" in changed else self.every[g])["flags"]  # type: ignore[no-any-return]

    def remarkable(self, g: int) -> bool:  # noqa: D102
        return g in self.changed or bool(self.flags(g))

    def accused(self) -> list[int]:  # noqa: D102
        if isinstance(self.every, PartitionFields):
            first = self.every.accused
        else:
            first = [own.get("accused_files", ()) for own in self.every]
        later = {g for g, own in self.changed.items() if own.get("accused_files")}
        return [g for g, files in enumerate(first) if files or g in later]

    def left_out(self) -> tuple[int, dict[str, int]]:  # noqa: D102
        if isinstance(self.shared, SharedFields):
            return self.shared.left_out()
        made = [self.make(g) for g in range(len(self))]
        return sum(one.n_rows for one in made), total_left_out(made)

    def make(self, g: int) -> MeanResult | VectorResult:  # noqa: D102
        fields = {**self.shared[g], **self.every[g], **self.changed.get(g, {})}
        result: Any = self.kind(**fields)
        if self.scale is not None:
            result = as_times(result, self.scale)
        return result  # type: ignore[no-any-return]


def answer_of(
    plan: MeanPlan,
    state: MeanState,
    data: dict[str, Any],
    run: dict[str, Any],
    *,
    listed: bool = False,
    looks: tuple[Look, ...] | None = None,
    second: MeanState | None = None,
) -> MeanResult | VectorResult | Results:
    """One result for each column and group, in that order; for vectors, one for each group.

    A single result if only one was requested; `listed` columns count as several, whatever their number.
    `looks` are the rows that stand apart in each column, if known already; `second` is the state of a second
    pass over the other rows.

    Raises
    ------
    NoAnswerError
        If there are no rows, or none of the results has a finite answer.
    """
    looks = looks_of(state, plan.options.window) if looks is None else looks
    groups = look_at_groups(looks, len(state.keys)) if plan.reader.options.by else ()
    return in_one(plan, [results_of(plan, state, looks, groups, second)], data, run, listed=listed)


def results_of(
    plan: MeanPlan,
    state: MeanState,
    looks: Sequence[Look],
    groups: Sequence[GroupsLook],
    second: MeanState | None,
) -> list[AnswerColumns]:
    """For each column (or for their vectors), the answers in all groups; `groups` are their looks."""
    names, joint = plan.reduction.columns, plan.options.joint
    read = plan.reader.options
    whole = ", ".join(read.columns if plan.options.weights is None else read.columns[:-1])
    apart = iter(()) if joint or plan.options.design.sampled else answers_apart(plan, state)
    results, far = [], list[Found]()
    for c, column in enumerate([whole] if joint else names):
        columns = slice(0, len(names)) if joint else slice(c, c + 1)
        more = {"columns": names, "method": joint} if joint else {}
        shared = fields_of_groups(plan, state, c, column, more)
        every: PerGroup
        if plan.options.design.sampled:
            every = list(sampled_fields(plan, state, columns, shared))
        else:
            found = answer_columns(plan, state, columns) if joint else next(apart)
            every = partition_fields(plan, state, columns, shared, found)
        kind = VectorResult if joint else MeanResult
        changed: dict[int, dict[str, Any]] = {}
        if groups:
            changed = settle_groups(plan, groups[c], c, shared, every, state, second)
        elif looks:
            far.append(Found(plan, tuple(looks[columns]), columns, shared[0], every[0], second, state.units))
        results.append(AnswerColumns(kind, column, shared, every, changed))
    if not far:
        return results
    changes = fields_of_columns(far)
    return [replace(one, changed={0: fields}) for one, fields in zip(results, changes, strict=True)]


def in_one(
    plan: MeanPlan,
    parts: Sequence[list[AnswerColumns]],
    data: dict[str, Any],
    run: dict[str, Any],
    *,
    listed: bool,
    keys: Sequence[Key] | None = None,
    let_go: Callable[[], None] | None = None,
) -> MeanResult | VectorResult | Results:
    """The combined results of several sets of groups, column by column, in the order of all their `keys`.

    `let_go` releases memory that is used while results are made.
    NoAnswerError if none has a finite answer.
    """
    columns = [part for column in zip(*parts, strict=True) for part in column]
    order = None
    if keys is not None:
        mine = sorted(range(len(keys)), key=keys.__getitem__)
        n_columns = len(parts[0])
        order = (np.array(mine) + len(keys) * np.arange(n_columns)[:, None]).ravel()
    results: Any = OnDemand.of(columns, order, let_go)
    if len(results) < MANY:
        results = list(results)
    if not any(np.isfinite(r.estimate).all() for r in results):
        raise NoAnswerError(_why_none(results[0], plan))
    if scales := plan.reader.options.scales:
        timed = OnDemand.of((replace(part, scale=scales.get(part.column)) for part in columns), order, let_go)
        results = list(timed) if isinstance(results, list) else timed
    several = bool(plan.reader.options.by) or not (plan.options.joint or (len(parts[0]) == 1 and not listed))
    return told(results, data, run, several=several)  # type: ignore[no-any-return]


def _why_none(result: MeanResult | VectorResult, plan: MeanPlan) -> str:
    """Why the first result has no finite answer, and what to do."""
    name = named_in(f"column {result.column!r}", result)
    if result.n_used == 0:
        what, missing = "a value", f"{result.n_null} null, {result.n_nan} NaN"
        if result.weights is not None:
            what = "a value and a positive weight"
            missing += f", {result.n_unweighted} without weight, {result.n_zero_weight} of weight zero"
        return f"{name}: none of the {result.n_rows} rows has {what} ({missing})"
    remedy = "filter the infinite values out, or use more blocks"
    if result.n_nan and plan.options.nan == "keep":
        remedy = "use nan='omit', or more blocks"
    return why_not_finite(name, result, remedy)


def sampled_fields(
    plan: MeanPlan, state: MeanState, columns: slice, shared: PerGroup
) -> Iterator[dict[str, Any]]:
    """Fields of the results of all groups: medians of the means of samples, for a column or for vectors."""
    return (_of_samples(plan, state.moments.at((columns, g)), fields) for g, fields in enumerate(shared))


def _of_samples(plan: MeanPlan, every: BlockState, fields: dict[str, Any]) -> dict[str, Any]:
    """Fields of the result of one group from blocks that are independent samples of its rows.

    The intervals use the lower median of the blocks' variances as the variance of a row, in each coordinate.
    If filters, nulls or groups make the blocks differ in size, the smallest block gives the variance of a
    block mean, and the largest the probability that a block uses a given row; the population is that of all
    used rows.
    """
    n_blocks, n_used = plan.blocks.layout.n_blocks, fields["n_used"]
    method = method_of(plan)
    blocks = every.at((slice(None), slice(n_blocks)))
    blocks = blocks.at((slice(None), blocks.count[0] > 0))
    sizes, (whole, spread) = blocks.count[0], (every.mean[:, n_blocks], every.m2[:, n_blocks])
    same = np.isfinite(whole) & (spread == 0.0) & (n_used > 1)
    some = (blocks.count >= 2) & np.isfinite(blocks.m2)
    row = lower_median(np.where(some, blocks.m2 / np.maximum(blocks.count - 1, 1), np.nan), axis=1)

    def width(kind: str, delta: float) -> Width:
        k, size = int(sizes.size), int(sizes.min())
        if kind == "closed-form":
            drawn = (plan.blocks.block_size or 0) * n_used // (plan.n_rows or n_used)
            options, variance = plan.options, mean_variance(float(row[0]), size)
            return paper_sample_margin(
                options.confidence_level, options.design.tau, variance, k, (drawn,), (n_used,)
            )
        replacement = plan.options.design.replace
        inverse = row_inverse_inclusion(n_used, int(sizes.max()), replacement=replacement)
        variances = [mean_variance(float(s), size, n_used if replacement else None) for s in row]
        return resampled_width(variances, k, inverse, delta, method), None

    values = np.ascontiguousarray(blocks.mean[0] if method is None else blocks.mean.T)
    found = Samples(values, sizes, row, bool(same.all())).estimate(promise_of(plan), method, width)
    plain = whole.copy() if n_used else np.full(whole.shape, np.nan)
    notes = list(value_notes(fields.get("columns"), same))
    if 0 < sizes.size < n_blocks:
        notes.append(
            f"left out: {n_blocks - sizes.size} of {n_blocks} samples, without a used row of this group"
        )
    own = {} if method is None else {"trace": float(row.sum())}
    return {
        **found.fields(),
        **own,
        "plain_estimate": float(plain[0]) if method is None else plain,
        "notes": tuple(notes),
    }
