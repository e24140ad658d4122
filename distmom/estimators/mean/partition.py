"""The rule on the blocks of a partition: the same for single columns and for vectors of columns."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from distmom.errors import ConfigError
from distmom.estimators.mean.counts import PerGroup, units_of_groups
from distmom.estimators.mean.notes import IN_ORDER, block_notes, value_notes, weight_notes
from distmom.inference.adaptive import answer_rule
from distmom.inference.answers import BlockSource
from distmom.inference.estimate import Estimates, Promise, Shown
from distmom.inference.files.lake_units import dependence_of, rest_of, tell
from distmom.inference.ladder import Merger, scaled_mad
from distmom.inference.plain import sample_means
from distmom.inference.status import Finding, NoInterval, flags_of, in_order
from distmom.numerics.arrays import Bools, Floats
from distmom.numerics.blocks.block_state import BlockState
from distmom.numerics.median import lower_median
from distmom.numerics.samples.stretches import Stretches, stretches_of
from distmom.reductions.roots import cell_of, keyed_paths
from distmom.reductions.state import MeanState
from distmom.status import Status
from distmom.theory.paper import mom_blocks, paper_margin_mom

if TYPE_CHECKING:
    from distmom.estimators.mean.plan import MeanPlan

AGREE, AGREE_SEEN = 1.0, 6.0
"""Standard errors by which the two may differ: where rows stand apart; where blocks have seen them."""

ABOUT_INTERVAL = ("interval_kind", "interval_reason", "actual_level", "notes")


def promise_of(plan: MeanPlan) -> Promise:
    """What the intervals of a plan are to promise."""
    options, blocks = plan.options, plan.blocks
    outlying = None if options.contamination is None else blocks.outlying
    return Promise(
        options.interval,
        options.confidence_level,
        options.delta,
        blocks.n_blocks,
        outlying,
        blocks.layout.repeats,
    )


def method_of(plan: MeanPlan) -> str | None:
    """How block mean vectors become one; None for numbers."""
    return str(plan.options.joint) if plan.options.joint else None


def row_and_cell_blocks(
    plan: MeanPlan, moments: BlockState
) -> tuple[BlockState, BlockState | None, BlockSource]:
    """Row blocks (of the first partition), cells of whole files if there are some, what the former hold."""
    layout = plan.blocks.layout
    if plan.options.design.of_units:
        return moments, None, "units"
    n = layout.n_blocks
    heard = plan.blocks.n_cells and plan.blocks.hears_files
    cells = moments.at((..., slice(n, None))) if heard else None
    rows = moments.at((..., slice(n // layout.repeats)))
    together = plan.options.design.stored or plan.options.design.chunk_rows > 1
    return rows, cells, "stored" if together else "rows"


def of_random_rows(plan: MeanPlan) -> bool:
    """Whether blocks hold single rows at random, as if these were independent."""
    design = plan.options.design
    return not (design.of_units or design.stored or design.sampled) and design.chunk_rows == 1


def pays_for_files(plan: MeanPlan) -> bool:
    """Whether the answer is to pay for rows that are correlated: by default."""
    options = plan.options
    free = options.contamination is None and plan.blocks.n_blocks is None
    return of_random_rows(plan) and options.design.repeats == 1 and free and options.window is None


def answer_columns(plan: MeanPlan, state: MeanState, columns: slice) -> Estimates:
    """What the rule says of the blocks of a column, or of the vectors of all columns.

    The rule for the number of blocks tests each of d coordinates at the d-th part of its level and screens
    out of all what is outlying in one: a test of distances would see the coordinates of largest variance
    alone. It was chosen by simulation (three dependent coordinates, 10,000 rows, four distributions, 40
    replications each): with one outlying row, 0.1% in one coordinate, 0.5% spread over the coordinates, or
    1 and 5% in all, the risk in units of the trace stays between 0.7 and 2.1 for the geometric median, 1.1
    and 3.0 by coordinates (clean 0.7 to 1.2 and 1.1 to 1.4; the sample mean above 10^4), no clean vector of
    160 is flagged and all damaged ones are. Without the screen the geometric median of 25 blocks breaks from
    0.5% on.
    """
    method, promise = method_of(plan), promise_of(plan)
    moments, samples = state.moments.at(columns), state.samples[columns]
    d = len(samples)
    rows, cells, source = row_and_cell_blocks(plan, moments)
    values = np.stack([sample.values for sample in samples], axis=1)
    n_values = np.stack([np.isfinite(sample.keys).sum(axis=1) for sample in samples], axis=1)
    wanted = {"ball"} if method == "geometric" else {"order", "cantelli"}
    if promise.repeats > 1:
        rows = moments.at((..., slice(plan.blocks.layout.n_blocks)))
    rows = _lines(rows, joint=method is not None)
    if promise.repeats > 1:
        rows = rows.each(lambda a: a.reshape(a.shape[0], promise.repeats, -1))
    units, stretches = units_of_groups(state), stretches_of(state.pools[columns], state.stretches[columns])
    known = bool(stretches) and bool(stretches[0].rows) and of_random_rows(plan)
    pays = pays_for_files(plan)
    answer = answer_rule(
        rows,
        values.reshape(-1, values.shape[2]),
        n_values.reshape(-1),
        promise.level(d, method),
        files=None if cells is None else _lines(cells, joint=method is not None),
        n_blocks="auto" if promise.n_blocks is None else promise.n_blocks,
        block_source=source,
        intervals=wanted if method is None else wanted | {"ball"},
        outlying=plan.blocks.outlying,
        n_columns=d,
        n_units=None if units is None else np.repeat(units, d),
        pays_for_files=pays and not known and method is None,
        few_only=not plan.reader.options.by,
    )
    found = Estimates(answer, promise, d, method, pays)
    return _with_units(plan, found, moments, stretches) if known else found


def _with_units(
    plan: MeanPlan, found: Estimates, moments: BlockState, stretches: Sequence[Stretches]
) -> Estimates:
    """The answer without files that are odd, and with what the units of rows say."""
    answer, promise = found.answer, found.promise
    answer.file_effect[:] = np.nan
    rows = moments.at((slice(None), 0, slice(plan.blocks.layout.n_blocks // promise.repeats)))
    flags = int(np.bitwise_or.reduce(answer.status))
    if answer.disagree.any() or flags & (Finding.NO_FINITE_ANSWER | Finding.NO_ROWS):
        return found
    rest = None
    paths, outlying = _paths(plan), int(answer.n_screened_out.max()) if flags & Finding.CONTAMINATED else 0
    if found.pays and not flags & (
        Finding.CONTAMINATED | Finding.BREAKDOWN_POINT_EXCEEDED | Finding.SAMPLE_MEAN
    ):
        rest = rest_of(paths, stretches, rows)
        answer = answer if rest is None else rest.answer(answer, found.delta)
    units = dependence_of(paths, stretches, rows, outlying=outlying, rest=rest)
    tell(answer, slice(0, found.n_lines), units, found.delta, pays=found.pays)
    if rest is not None:
        answer.status[:] |= int(Finding.FILES_DISAGREE)
    return replace(found, answer=answer, units=units, odd_files=() if rest is None else rest.odd)


def _paths(plan: MeanPlan) -> dict[int, str]:
    return keyed_paths(plan.reduction.seed, [file.path for file in plan.files], plan.roots)


def _lines(columns: BlockState, *, joint: bool) -> BlockState:
    """Blocks (columns, groups, n) as (groups x columns, n); if joint, non-finite in one is so in all."""
    if joint:
        non_finite = ((columns.count > 0) & ~np.isfinite(columns.mean)).any(axis=0)
        columns = columns.with_means(np.where(non_finite, np.nan, columns.mean))
    return columns.each(lambda a: np.ascontiguousarray(a.swapaxes(0, 1)).reshape(-1, a.shape[2]))


def accused_files(plan: MeanPlan, found: Estimates) -> list[tuple[str, ...]]:
    """For each group the files (with their folders where these are several) in its suspected cells."""
    if found.odd_files or not any(found.disagree):
        return [found.odd_files] * len(found.disagree)
    suspects = found.answer.suspect_cells[:: found.n_lines] & np.array(found.disagree)[:, None]
    paths: dict[int, list[str]] = {}
    roots = plan.roots or (None,) * len(plan.files)
    for file, root in zip(plan.files, roots, strict=True):
        cell = cell_of(plan.reduction.seed, file.path, plan.blocks.n_cells, root)
        paths.setdefault(cell, []).append(file.path if root is None else f"{root.rstrip('/')}/{file.path}")
    named = (np.flatnonzero(cells).tolist() for cells in suspects)
    return [tuple(sorted(path for cell in some for path in paths.get(cell, ()))) for some in named]


@dataclass(frozen=True)
class PartitionFields:
    """Fields of the results of all groups from what the rule says of a column, or of vectors.

    They are made when they are asked for.

    Attributes
    ----------
    plan : MeanPlan
    shared : PerGroup
        The other fields.
    found : Estimates
    accused : list of tuple of str
        Files, of each group.
    plain : tuple of ndarray
        Sample mean of each line, of all groups.
    row_variance : ndarray or None
        Where the interval is that of the paper.
    same, few, equal : ndarray of bool
        Lines that have one value, and that few rows carry; groups whose blocks are too equal.
    weights : list of tuple of str, or None
        Notices about weights.
    """

    plan: MeanPlan
    shared: PerGroup
    found: Estimates
    accused: list[tuple[str, ...]]
    plain: tuple[Floats, ...]
    row_variance: Floats | None
    same: Bools
    few: Bools
    equal: Bools
    weights: list[tuple[str, ...]] | None

    def __len__(self) -> int:
        return len(self.accused)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self[g] for g in range(len(self)))

    def flags(self, g: int) -> tuple[Status, ...]:
        """What is wrong with a group."""
        return flags_of(int(self.found.status[g]))

    def __getitem__(self, g: int) -> dict[str, Any]:
        found, plan, fields = self.found, self.plan, self.shared[g]
        answer, mine, one = found.answer, found.lines(g), found.estimate(g)
        own = one.fields()
        if self.row_variance is not None:
            constant, variance = bool(answer.constant[g]), self.row_variance[g]
            shown = _paper_interval(plan, variance, one.value, own["n_blocks"], fields["n_used"], constant)
            own |= {"interval": shown.interval, "interval_reason": shown.reason}
        if found.method is not None:
            own["trace"] = found.ball(g).trace
        means = [float(column[g]) for column in self.plain]
        own["plain_estimate"] = means[0] if found.method is None else np.array(means)
        own["other_estimate"], own["accused_files"] = found.other(g), self.accused[g]
        sorted_rows = own["interval_kind"] == "order" and self.equal[g] and not found.odd_files
        own["notes"] = (
            *value_notes(fields.get("columns"), self.same[mine], self.few[mine]),
            *block_notes(plan, answer, mine.start, fields, found),
            *(() if self.weights is None else self.weights[g]),
            *([IN_ORDER] if sorted_rows else []),
        )
        return own


def partition_fields(
    plan: MeanPlan, state: MeanState, columns: slice, shared: PerGroup, found: Estimates
) -> PartitionFields:
    """Fields of the results of all groups from what the rule says of a column, or of vectors."""
    answer = found.answer
    rows, _, _ = row_and_cell_blocks(plan, state.moments.at(columns))
    each = [rows.at(c) for c in range(found.n_lines)]
    rounded = [answer.plain_estimate] if found.method is None else [Merger(c).sample_mean() for c in each]
    variance = None
    if plan.options.interval == "closed-form":  # lower median of the blocks' variances
        chosen = Merger(rows.at(0)).moments_at(np.maximum(answer.n_blocks, 1))
        variance = lower_median(chosen.row_variance)
    weights = None
    if plan.options.weights is not None:
        weights = [tuple(weight_notes(plan, rows.count[0, g], fields)) for g, fields in enumerate(shared)]
    return PartitionFields(
        plan,
        shared,
        found,
        accused_files(plan, found),
        tuple(sample_means(*column) for column in zip(each, rounded, strict=True)),
        variance,
        answer.constant & (answer.n_used > 1),
        (answer.status & int(Finding.DOMINATED_BY_FEW_ROWS)) > 0,
        np.any((answer.too_equal & ~answer.files_first).reshape(-1, found.n_lines), axis=1),
        weights,
    )


def _paper_interval(
    plan: MeanPlan, sigma2: float, estimate: float, n_blocks: int, n_used: int, constant: bool
) -> Shown:
    """The closed form of the proposition, at the number of blocks it prescribes."""
    if not np.isfinite(sigma2) or not np.isfinite(estimate):
        return Shown("closed-form", None, NoInterval.NO_ANSWER.words)
    if sigma2 == 0.0 and not constant:
        return Shown("closed-form", None, NoInterval.CONSTANT_BLOCKS.words)
    try:
        prescribed = mom_blocks(plan.options.confidence_level, n_used)[0]
    except ConfigError:  # one small group must not end the run
        why = f"the proposition does not reach this confidence level with {n_used} rows"
        return Shown("closed-form", None, why)
    if n_blocks != prescribed:
        why = f"the proposition holds for {prescribed} blocks, not {n_blocks}; use blocks='paper'"
        return Shown("closed-form", None, why)
    half = paper_margin_mom(float(sigma2), n_used, plan.options.delta)
    return Shown("closed-form", (estimate - half, estimate + half))


def errors_allowed(flags: Sequence[Status]) -> float:
    """Standard errors by which the answer of the rows that are left may differ from that of all."""
    seen = Status.CONTAMINATED in flags or Status.FILES_DISAGREE in flags
    return AGREE_SEEN if seen and Status.BREAKDOWN_POINT_EXCEEDED not in flags else AGREE


def error_of(points: Floats) -> Floats:
    """Standard error of each coordinate of a mean of blocks, by the robust spread of these."""
    return np.asarray(scaled_mad(points.reshape(len(points), -1).T) / math.sqrt(len(points)))


def stands(flags: Sequence[Status], *, agree: bool) -> bool:
    """Whether the answer of all rows stands: it agrees, and blocks bear what is bad, or files are."""
    return agree and (Status.BREAKDOWN_POINT_EXCEEDED not in flags or Status.FILES_DISAGREE in flags)


def screened_out(first: dict[str, Any], again: dict[str, Any], *, of_sample: bool) -> dict[str, Any]:
    """The answer of the rows that are left, with what all rows say of files."""
    again = correlated(first, again, of_sample=of_sample)
    flags = [Status.SHARE_SCREENED_OUT, *again["flags"]]
    if first["accused_files"]:
        again = again | {"accused_files": first["accused_files"]}
        flags.append(Status.FILES_DISAGREE)
    return again | {"flags": in_order(flags)}


def correlated(first: dict[str, Any], again: dict[str, Any], *, of_sample: bool) -> dict[str, Any]:
    """The answer of the sample, with what all rows say of their units if the sample does not show it."""
    if (
        Status.ROWS_CORRELATED in again["flags"]
        or not of_sample
        or Status.ROWS_CORRELATED not in first["flags"]
    ):
        return again
    told = again | {"flags": (*again["flags"], Status.ROWS_CORRELATED)}
    if first["interval_kind"] != "clusters":
        return told
    ends = first["interval"]
    moved = ends and tuple(again["estimate"] + end - first["estimate"] for end in ends)
    return told | {"interval": moved, **{name: first[name] for name in ABOUT_INTERVAL}}
