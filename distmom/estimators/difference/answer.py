"""From the state of a run to the differences between variants."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from distmom.checks import did_you_mean
from distmom.errors import ConfigError, DataError, NoAnswerError
from distmom.estimators.mean.counts import UnitCount, groups_of, shared_fields, unit_counts
from distmom.estimators.mean.notes import FEW_UNITS
from distmom.estimators.mean.plan import MeanPlan
from distmom.estimators.mean.rule.answers import row_and_cell_blocks
from distmom.inference.adaptive import FEW_CARRY
from distmom.inference.answers import RuleAnswer
from distmom.inference.plain import sample_means
from distmom.inference.share.second_group import APART, FEW_VALUES
from distmom.inference.status import ALL_EQUAL, Finding
from distmom.inference.variants.differences import MAY_BE_0, Paired, compared, estimate_of
from distmom.inference.variants.lifts import Lift
from distmom.inference.variants.ratios import RatioBlocks, RobustRatio, ratio_steps
from distmom.inference.variants.together import all_answered
from distmom.numerics.blocks.moments import Moments
from distmom.numerics.median import lower_median
from distmom.reductions.state import MeanState
from distmom.report import DifferenceResult
from distmom.report.words import cell, listed
from distmom.words import counted

COUNTS = ("n_rows", "n_used", "n_null", "n_nan", "n_inf")

CARRIED = 10, 9
"""More than nine of ten sampled rows on one side of the mean: few rows may carry it."""

NEGATIVE = "the mean of {!r} is negative, so a positive lift is a lower value"

PAIRED = 0.9
"""With so large a share of its units in the other variant as well, a variant is paired by design."""


def in_both_note(n: int, control: UnitCount, variant: UnitCount, *, by_file: bool) -> str:
    """What units in both variants mean: pairs, if they are nearly all; else a broken assignment."""
    what, fewer = "files" if by_file else "units", min(control.n_units, variant.n_units)
    said = f"{'' if control.n_units_exact else 'about '}{n:,} {what}"
    if n >= PAIRED * fewer:
        return f"{said} are in both variants, as in a paired design; what they have in common cancels"
    said += f", {100.0 * n / fewer:.2g}% of the smaller variant's, are in both variants"
    if by_file:
        return said
    return (
        f"{said}, and a randomised experiment should have none: check the assignment; crossover='omit' "
        "leaves them out"
    )


@dataclass(frozen=True)
class Variant:
    """One variant: its value of the `by` column, counts, robust and sample mean, sampled rows on one side.

    `size` is the median of absolute values that are not zero; NaN where too few are sampled. `in_both` are
    the units that are in the control, too; None where rows are independent.
    """

    value: Any
    counts: dict[str, Any]
    units: UnitCount | None
    ratio: RobustRatio
    plain: float
    carried: bool
    size: float
    in_both: int | None = None


def differences(
    plan: MeanPlan, state: MeanState, control: Any, denominator: str | None
) -> list[DifferenceResult]:
    """One result for each variant beside the control, in the order of their values.

    ConfigError if there is no such control; DataError if the mean of the denominator is not positive in some
    variant; NoAnswerError if there are no rows, one variant only, or not one finite answer.
    """
    (by,) = plan.reader.options.by
    values = [group[by] for group in groups_of(plan, state, (by,)) if group is not None]
    known = [g for g, value in enumerate(values) if value is not None]
    if len(known) < 2:
        only = f"only one variant, {cell(values[known[0]])!r}" if known else "no variant"
        raise NoAnswerError(f"by: column {by!r} has {only}; a difference takes two, so check by and where")
    first = known[_place_of([values[g] for g in known], control, by)]
    variants = dict(zip(known, _variants(plan, state, known, values, denominator), strict=True))
    if state.units is not None:
        for g, one in variants.items():
            variants[g] = replace(one, in_both=round(state.units.in_both(first, g)))
    if variants[first].counts["n_used"] == 0:
        raise NoAnswerError(_unused(variants[first]))
    without = sum(int(state.n_rows[g]) for g, value in enumerate(values) if value is None)
    notes = (f"left out: {counted(without, 'row')} without a variant",) if without else ()
    results = _results(plan, variants[first], [variants[g] for g in known if g != first], denominator, notes)
    if not any(math.isfinite(r.estimate) for r in results):
        worst = next((v for v in variants.values() if v.counts["n_used"] == 0), None)
        raise NoAnswerError(_unused(worst) if worst else _not_finite(results[0]))
    return results


def _place_of(values: list[Any], control: Any, by: str) -> int:
    """Place of the control: its value, or the same text; the first one where none is named."""
    if control is None:
        return 0
    texts = [cell(value) for value in values]
    wanted = cell(control)
    for same in (texts, [text.casefold() for text in texts]):
        if wanted in same:
            return same.index(wanted)
        wanted = wanted.casefold()
    hint = did_you_mean(cell(control), texts)
    raise ConfigError(f"control: no {cell(control)!r} in column {by!r}, which has {listed(texts)}{hint}")


def _unused(variant: Variant) -> str:
    n_rows, n_null, n_nan = (variant.counts[name] for name in ("n_rows", "n_null", "n_nan"))
    return (
        f"variant {cell(variant.value)!r}: none of the {n_rows:,} rows has a value "
        f"({n_null:,} null, {n_nan:,} NaN); check where"
    )


def _not_finite(result: DifferenceResult) -> str:
    return (
        f"{result.name}: no finite answer: half or more of the blocks are non-finite, from {result.n_inf:,} "
        f"infinite and {result.n_nan:,} NaN values in {result.n_rows:,} rows; filter them out by where"
    )


def _variants(
    plan: MeanPlan, state: MeanState, groups: list[int], values: list[Any], denominator: str | None
) -> list[Variant]:
    """The variants that are these groups."""
    units = unit_counts(state)
    counts = [shared_fields(plan, state, 0, plan.reduction.columns[0], g, None) for g in groups]
    blocks, _, _ = row_and_cell_blocks(plan, state.moments)
    cells = []
    for g, own in zip(groups, counts, strict=True):
        n_independent = own["n_used"] if units is None else min(units[g].n_units, own["n_used"])
        below = None if denominator is None else blocks.at((1, g)).mean
        cells.append(RatioBlocks(Moments(*blocks.at((0, g))), below, n_independent))
    ratios = all_answered([ratio_steps(one) for one in cells], plan.options.confidence_level)
    columns = [blocks.at((c, groups)) for c in range(len(blocks.count))]
    plain = np.array([sample_means(column, column.total().mean) for column in columns])
    with np.errstate(invalid="ignore", divide="ignore"):
        means = plain[0] if denominator is None else plain[0] / plain[1]
    found = []
    for i, (g, own, ratio) in enumerate(zip(groups, counts, ratios, strict=True)):
        if ratio.denominator <= 0.0 and own["n_used"]:
            raise DataError(
                f"denominator: the mean of column {denominator!r} is not positive in variant "
                f"{cell(values[g])!r}; name a column that counts something, or filter by where"
            )
        mine, mean = None if units is None else units[g], float(means[i]) if own["n_used"] else math.nan
        carried = _carried(state, g, ratio.value, own["n_used"])
        found.append(Variant(values[g], own, mine, ratio, mean, carried, _size(state, g)))
    return found


def _size(state: MeanState, g: int) -> float:
    sample = state.samples[0]
    x = np.abs(sample.values[g][np.isfinite(sample.keys[g])])
    x = x[np.isfinite(x) & (x > 0.0)]
    with np.errstate(over="ignore"):
        return float(np.median(x)) if x.size >= FEW_VALUES else math.nan


def _carried(state: MeanState, g: int, ratio: float, n_used: int) -> bool:
    """Whether more than 90% of the sampled rows lie strictly on one side of the mean, and too few carry it.

    Those are fewer than `FEW_CARRY` effective ones, (sum |y - c|)^2 / sum (y - c)^2 about the median c, as
    many times as there are more rows than sampled ones.
    """
    x = state.samples[0].values[g]
    d = state.samples[1].values[g] if len(state.samples) > 1 else 1.0
    with np.errstate(invalid="ignore", over="ignore"):
        away = x - ratio * d
        n_sample = np.count_nonzero(np.isfinite(state.samples[0].keys[g]))
        most = max(np.count_nonzero(away < 0.0), np.count_nonzero(away > 0.0))
        if CARRIED[0] * most <= CARRIED[1] * n_sample:
            return False
        away = np.abs(away - lower_median(away))
        squares = float(np.nansum(np.square(away)))
        effective = float(np.nansum(away)) ** 2 / squares if squares > 0.0 else 0.0
    return not effective * n_used / n_sample >= FEW_CARRY


def _results(
    plan: MeanPlan,
    control: Variant,
    variants: list[Variant],
    denominator: str | None,
    notes: tuple[str, ...],
) -> list[DifferenceResult]:
    """The variants beside the control."""
    options = plan.options
    pairs = [Paired(control.ratio, one.ratio, options.confidence_level) for one in variants]
    found = compared(pairs, options.interval)
    return [
        _result(plan, control, one, denominator, notes, *answers)
        for one, answers in zip(variants, found, strict=True)
    ]


def _result(
    plan: MeanPlan,
    control: Variant,
    variant: Variant,
    denominator: str | None,
    notes: tuple[str, ...],
    answer: RuleAnswer,
    lift: Lift,
) -> DifferenceResult:
    one = estimate_of(answer, 0, plan.options.interval, plan.options.confidence_level)
    finite = not one.status & (Finding.NO_ROWS | Finding.NO_FINITE_ANSWER)
    if finite and (control.carried or variant.carried):
        one = one.with_status(Finding.DOMINATED_BY_FEW_ROWS)
    times = max(variant.size, control.size) / min(variant.size, control.size)
    if finite and times >= APART:
        one = one.with_status(Finding.SHARE_FAR_OUT)
        larger, other = sorted((variant, control), key=lambda side: -side.size)
        about = f"about {float(f'{times:.2g}'):,.10g} times as large as those of {cell(other.value)!r}"
        notes = (f"values of {cell(larger.value)!r} are {about}: another unit?", *notes)
    told = one.fields()
    del told["block_size"]  # in units, not rows
    both = {n: control.counts[n] + variant.counts[n] for n in COUNTS}
    return DifferenceResult(
        metric=plan.reduction.columns[0],
        denominator=denominator,
        by=plan.reader.options.by[0],
        confidence_level=plan.options.confidence_level,
        lift=lift.value,
        lift_interval=lift.interval,
        lift_reason=lift.reason,
        **_side("control", control, plan),
        **_side("variant", variant, plan),
        plain_estimate=variant.plain - control.plain,
        plain_lift=_plain_lift(control, variant, lift),
        **told,
        **both,
        design=plan.options.design,
        unit=plan.options.design.unit,
        n_units_in_both=variant.in_both,
        n_units_exact=None if control.units is None else control.units.n_units_exact,
        notes=(*notes, *_notes(plan, control, variant, answer, lift)),
    )


def _plain_lift(control: Variant, variant: Variant, lift: Lift) -> float:
    """That of the sample means; NaN where there is none as the control's mean may be 0."""
    known = control.plain and lift.reason != MAY_BE_0
    return variant.plain / control.plain - 1.0 if known else math.nan


def _side(name: str, side: Variant, plan: MeanPlan) -> dict[str, Any]:
    """The fields of a result about one of its two variants."""
    one = estimate_of(side.ratio.answer, 0, plan.options.interval, plan.options.confidence_level)
    return {
        name: side.value,
        f"{name}_mean": side.ratio.value,
        f"{name}_interval": one.shown.interval,
        f"plain_{name}": side.plain,
        f"n_used_{name}": side.counts["n_used"],
        f"n_units_{name}": None if side.units is None else side.units.n_units,
    }


def _notes(plan: MeanPlan, control: Variant, variant: Variant, answer: RuleAnswer, lift: Lift) -> list[str]:
    n_blocks = int(answer.n_blocks[0])
    notes = [_unused(v) for v in (variant,) if v.counts["n_used"] == 0]
    if answer.constant[0]:
        notes.append(ALL_EQUAL)
    if lift.reason is None and control.ratio.value < 0.0:
        notes.append(NEGATIVE.format(cell(control.value)))
    if variant.in_both and control.units is not None and variant.units is not None:
        by_file = plan.options.design.by_file
        notes.append(in_both_note(variant.in_both, control.units, variant.units, by_file=by_file))
    for side in (control, variant):
        if side.units is not None and side.units.n_units < FEW_UNITS * n_blocks:
            about = "" if side.units.n_units_exact else "about "
            notes.append(
                f"{about}{side.units.n_units:,} units of {cell(side.value)!r} make {n_blocks} blocks; fewer "
                f"than {FEW_UNITS} units per block make the interval approximate"
            )
    return notes
