"""Notices with a robust mean: about its number of blocks, files, units, weights and coordinates."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from distmom.estimators.mean.contamination import counted_as
from distmom.inference.answers import RuleAnswer
from distmom.inference.estimate import Estimates
from distmom.inference.files.dependence import FILES
from distmom.inference.status import ALL_EQUAL
from distmom.numerics.arrays import Bools, Ints
from distmom.report.words import listed
from distmom.words import counted

if TYPE_CHECKING:
    from distmom.estimators.mean.plan import MeanPlan

FEW_UNITS = 10
"""Whole files or units as blocks need at least this many per block."""

_CONTRADICTED = "file-level and row-level estimates disagree, so some files are corrupt"
FILES_HEARD = f"{_CONTRADICTED}; this estimate uses whole files as blocks"
ROWS_HEARD = (
    f"{_CONTRADICTED}; this estimate uses rows, because the number of blocks was given; use "
    "blocks='auto' or blocks=FileBlocks()"
)
ROWS_ALONE = f"{_CONTRADICTED}; this estimate uses rows; use blocks=FileBlocks()"
"""For answers from rows, whatever the files show."""

ALIKE = "rows within {} are correlated (design effect about {:.3g})"
PAID = f"{ALIKE}, so the interval uses whole {{}}"
UNPAID = (
    f"{ALIKE}, so this interval is too narrow to generalise beyond these {{}}; to generalise, drop "
    "the options "
    "that fix blocks or interval"
)
NEITHER = (
    "neighbouring rows are correlated over every length tried (design effect at least {1:.3g}), so "
    "there is no interval"
)
ODD = (
    "left out: {}, with values that differ from all others, which happens by chance in about one lake in "
    "1,000"
)
SORTED = (
    "rows are sorted by this column or a related one; the interval assumes independent rows that were sorted "
    "afterwards, and does not extrapolate a trend"
)

IN_ORDER = (
    "neighbouring rows are correlated, as in sorted columns, so blocks are more alike than by chance; the "
    "interval uses the variance within blocks"
)


def block_notes(
    plan: MeanPlan, answer: RuleAnswer, line: int, fields: dict[str, Any], found: Estimates | None = None
) -> Iterator[str]:
    """Notices about the number of blocks or units, and about files, for one line of the rule's answer.

    `found` are the estimates of a mean.
    """
    wanted, n_blocks = plan.blocks.n_blocks, int(answer.n_blocks[line])
    if plan.options.contamination is not None:
        yield f"allows for {plan.blocks.outlying:,} arbitrary {counted_as(plan.options)}"
    if answer.lowered[line] and wanted is not None:
        yield f"blocks lowered from {wanted} to {n_blocks}, the number of rows"
    elif wanted is not None and 0 < n_blocks < wanted:
        yield f"only {n_blocks} of {wanted} blocks hold rows; the empty ones are left out"
    files_first = bool(answer.files_first[line])
    design = plan.options.design
    by_rows = not design.stored and design.chunk_rows == 1 and not files_first
    lines = slice(line, line + 1) if found is None else found.lines_of(line)
    effects = answer.file_effect[lines]
    some = by_rows and any(effect == effect for effect in effects.tolist())  # nearly all are NaN
    if some and (effect := float(np.max(np.nan_to_num(effects)))) > 0.0:
        yield _alike(plan, found, line, effect)
    if by_rows and found is not None and found.units is not None and found.units.in_order:
        yield SORTED
    if found is not None and found.odd_files:
        yield ODD.format(counted(len(found.odd_files), "file"))
    elif answer.disagree[line]:
        yield FILES_HEARD if files_first else ROWS_HEARD
    if fields.get("n_units", math.inf) < FEW_UNITS * n_blocks:
        yield _few_units(plan, n_blocks, fields)


def _alike(plan: MeanPlan, found: Estimates | None, line: int, effect: float) -> str:
    """The remark on correlated rows."""
    units = None if found is None else found.units
    unit = FILES if units is None else units.unit
    if units is not None and units.clusters is None:
        return NEITHER.format(unit, effect)
    told = UNPAID
    if found is not None and found.pays and plan.options.interval in ("auto", "none"):
        told = PAID if math.isfinite(found.answer.files_low[line]) else ALIKE
    return told.format(unit, effect, unit)


def _few_units(plan: MeanPlan, n_blocks: int, fields: dict[str, Any]) -> str:
    """The remark on too few units for the blocks."""
    what = "files" if plan.options.design.by_file else "units"
    about = f"{'' if fields['n_units_exact'] else 'about '}{fields['n_units']} {what}"
    if n_blocks < 2:
        return f"{about} are too few for blocks"
    few = f"fewer than {FEW_UNITS} {what} per block"
    return f"{about} make {n_blocks} blocks; {few} make the interval approximate"


def weight_notes(plan: MeanPlan, count: Ints, fields: dict[str, Any]) -> Iterator[str]:
    """A notice if blocks with rows are left out because none of their rows has a positive weight.

    `count` are the rows of positive weight in the fine blocks of a group.
    """
    if plan.options.weights is None or plan.blocks.layout.n_blocks == 0:
        return
    empty = int(np.count_nonzero(count == 0))
    weightless = fields["n_unweighted"] + fields["n_zero_weight"]
    if fields["n_rows"] >= count.size and empty and weightless:
        number = f"{empty:,} of {count.size:,} " if fields["group"] is None else ""
        yield f"left out: {number}fine blocks, without a row of positive weight"


def value_notes(names: Sequence[str] | None, same: Bools, few: Bools | None = None) -> Iterator[str]:
    """Notices about values: coordinates with a single value, or dominated by few rows if not all are.

    A number has no `names`.
    """
    if same.any():
        yield ALL_EQUAL if names is None else f"{_some(names, same)}: {ALL_EQUAL}"
    if names is not None and few is not None and few.any() and not few.all():
        yield f"dominated by few rows: {_some(names, few)}"


def _some(names: Sequence[str], chosen: Bools) -> str:
    return listed(name for name, one in zip(names, chosen, strict=True) if one)
