"""The rule on the blocks of a partition: the same for single columns and for vectors of columns."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from distmom.errors import ConfigError
from distmom.estimators.mean.counts import PerGroup
from distmom.estimators.mean.notes import IN_ORDER, block_notes, value_notes, weight_notes
from distmom.estimators.mean.rule.answers import row_and_cell_blocks
from distmom.inference.estimate import Estimates, Shown
from distmom.inference.ladder import Merger, scaled_mad
from distmom.inference.plain import sample_means
from distmom.inference.status import Finding, NoInterval, flags_of, in_order
from distmom.numerics.arrays import Bools, Floats
from distmom.numerics.median import lower_median
from distmom.reductions.roots import cell_of
from distmom.reductions.state import MeanState
from distmom.status import Status
from distmom.theory.paper import mom_blocks, paper_margin_mom

if TYPE_CHECKING:
    from distmom.estimators.mean.plan import MeanPlan

AGREE, AGREE_SEEN = 1.0, 6.0
"""Standard errors by which the two may differ: if rows stand apart; if blocks have detected them."""

ABOUT_INTERVAL = ("interval_kind", "interval_reason", "actual_level", "notes")


def accused_files(plan: MeanPlan, found: Estimates) -> list[tuple[str, ...]]:
    """For each group the files (with their folders if there are several) in its suspected cells."""
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
    """Fields of the results of all groups, from the rule's answer for a column or for vectors.

    They are made on demand.

    Attributes
    ----------
    plan : MeanPlan
    shared : PerGroup
        The other fields.
    found : Estimates
    accused : list of tuple of str
        Accused files of each group.
    plain : tuple of ndarray
        Sample mean of each line, of all groups.
    row_variance : ndarray or None
        Present if the interval is that of the paper.
    same, few, equal : ndarray of bool
        Lines with a single value; lines dominated by few rows; groups whose blocks are too similar.
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
        """The flags of a group."""
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
    """Fields of the results of all groups, from the rule's answer for a column or for vectors."""
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
    """The closed form of the proposition, with the number of blocks it prescribes."""
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
    """Standard errors by which the answer from the remaining rows may differ from that from all rows."""
    seen = Status.CONTAMINATED in flags or Status.FILES_DISAGREE in flags
    return AGREE_SEEN if seen and Status.BREAKDOWN_POINT_EXCEEDED not in flags else AGREE


def error_of(points: Floats) -> Floats:
    """Standard error of each coordinate of a mean of blocks, from their robust scale."""
    return np.asarray(scaled_mad(points.reshape(len(points), -1).T) / math.sqrt(len(points)))


def stands(flags: Sequence[Status], *, agree: bool) -> bool:
    """Whether the answer from all rows is kept: both agree, and bad rows are tolerated or files are bad."""
    return agree and (Status.BREAKDOWN_POINT_EXCEEDED not in flags or Status.FILES_DISAGREE in flags)


def screened_out(first: dict[str, Any], again: dict[str, Any], *, of_sample: bool) -> dict[str, Any]:
    """The answer from the remaining rows, with the findings about files from all rows."""
    again = correlated(first, again, of_sample=of_sample)
    flags = [Status.SHARE_SCREENED_OUT, *again["flags"]]
    if first["accused_files"]:
        again = again | {"accused_files": first["accused_files"]}
        flags.append(Status.FILES_DISAGREE)
    return again | {"flags": in_order(flags)}


def correlated(first: dict[str, Any], again: dict[str, Any], *, of_sample: bool) -> dict[str, Any]:
    """The answer from the sample, with the findings from all rows about units that it does not show."""
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
