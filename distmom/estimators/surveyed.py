"""What a survey found, and results marked with it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from distmom.estimators.mean.partition import error_of, errors_allowed, stands
from distmom.inference.status import in_order
from distmom.passes.scan import Scan
from distmom.report import MeanResult, VectorResult
from distmom.report.estimate import EstimateResult
from distmom.report.far_rows import FarRows, column_of
from distmom.report.words import listed
from distmom.status import Status
from distmom.words import counted, printable

Mean = MeanResult | VectorResult

OF_SIZES = (Status.CONTAMINATED, Status.DOMINATED_BY_FEW_ROWS)
BOUNDED = ("kendall", "kendall-b", "concordance", "auc", "ranking", "mmd", "mmd-laplace", "rbf", "laplace")
"""Kernels of which no row decides much, however large: what is said of sizes does not concern them."""

ALIKE = "but the interval assumes independent rows; use whole files as blocks: {}"

NOT_RELIABLE = "the breakdown point is exceeded"
NO_VERDICT = {
    "lift": math.nan,
    "lift_interval": None,
    "lift_reason": NOT_RELIABLE,
    "p_value": None,
    "p_holm": None,
    "p_reason": NOT_RELIABLE,
}
"""What results have no more that cannot be relied upon."""

NOT_TO_RELY = "do not rely on this result"


@dataclass(frozen=True)
class Survey:
    """What is to be read of a scan, and what is left out of it.

    Attributes
    ----------
    scan : Scan
        Without what is bad.
    files : tuple of str
        That were left out.
    far : tuple of FarRows
        Of each column with rows that stand apart: what was left out, or told.
    beyond : tuple of str
        What is wrong and could not be repaired.
    passed_on : tuple of Status
        What the mean says of the rows that are left.
    correlated : tuple of str
        Columns whose rows within files are correlated.
    columns : tuple of str
        That were asked for.
    means : tuple of MeanResult or VectorResult
        Of the columns, on the rows that are left; of none where the mean itself has no answer.
    """

    scan: Scan
    files: tuple[str, ...] = ()
    far: tuple[FarRows, ...] = ()
    beyond: tuple[str, ...] = ()
    passed_on: tuple[Status, ...] = ()
    correlated: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    means: tuple[Mean, ...] = ()

    @property
    def nothing(self) -> bool:
        """Whether there is nothing to say."""
        return not (self.files or self.far or self.beyond or self.passed_on)

    def of(self, _: Any) -> Survey:
        """What is said of a group: the same of all."""
        return self

    def flags(self) -> list[Status]:
        """The words for it."""
        actions = {far.action for far in self.far}
        return [
            *[Status.BREAKDOWN_POINT_EXCEEDED] * bool(self.beyond),
            *[Status.SHARE_SCREENED_OUT] * ("screened out" in actions),
            *[Status.FILES_DISAGREE] * bool(self.files),
            *[Status.SHARE_FAR_OUT] * ("told" in actions),
            *self.passed_on,
        ]

    def words(self, level: str = "99%") -> list[str]:
        """The same in sentences."""
        files = [f"{left_out(self.files)}: {listed(map(printable, self.files))}"] * bool(self.files)
        far = [words for one in self.far for words in one.words(level, one.column or self.columns[0])]
        return [*files, *far, *(f"{words}: {NOT_TO_RELY}" for words in self.beyond)]


def left_out(files: Sequence[str]) -> str:
    """What is told of files that were left out.

    Examples
    --------
    >>> left_out(["a"]), left_out(["a", "b"])
    ('1 file that differs from the rest was left out', '2 files that differ from the rest were left out')
    """
    told = "that differs from the rest was" if len(files) == 1 else "that differ from the rest were"
    return f"{counted(len(files), 'file')} {told} left out"


def marked(result: Any, *found: Survey) -> Any:
    """The result with what was left out of its data, or should have been."""
    found = tuple(one for one in found if not one.nothing)
    if not found:
        return without_verdict(result)
    told = {flag for one in found for flag in one.flags()}
    if getattr(result, "kernel", "") in BOUNDED:
        told = told.difference(OF_SIZES)
    flags = {*result.flags, *told}
    files = tuple(dict.fromkeys(file for one in found for file in one.files))
    far = [far for one in found for far in one.far]
    notes = []
    if files:
        notes.append(left_out(files))
    notes += [words for more in far[1:] for words in more.words(result.level, column_of(result))]
    for words in dict.fromkeys(words for one in found for words in one.beyond):
        notes.append(f"{words}: {NOT_TO_RELY}")
    alike = list(dict.fromkeys(name for one in found for name in one.correlated))
    if alike:
        notes.append(
            f"rows within a file are correlated ({listed(alike)}), {ALIKE.format(result.remedies.files)}"
        )
    if not notes and not far and flags == set(result.flags):
        return without_verdict(result)
    changes: dict[str, Any] = {
        "flags": in_order(flags),
        "status": Status.OK,
        "notes": (*notes, *result.notes),
    }
    if isinstance(result, EstimateResult):
        changes |= {"far_rows": far[0] if far else result.far_rows}
        changes |= {"accused_files": files or result.accused_files}
        changes["files_named"] = bool(files) or result.files_named
    return without_verdict(replace(result, **changes))


def borne(first: Any, again: Any, *found: Survey) -> Any:
    """The estimate of all rows, if its blocks bear what was left out of another; None if they do not."""
    allowed = errors_allowed(first.flags) * error_of(again.block_estimates)
    agree = bool((np.abs(np.ravel(first.estimate - again.estimate)) <= allowed).all())
    every = [far for one in found for far in one.far]
    told = any(one.beyond for one in found) or any(far.action == "told" for far in every)
    if told or not stands(first.flags, agree=agree):
        return None
    far = [replace(far, action="borne") for far in every]
    return replace(first, far_rows=far[0]) if far else first


def without_verdict(result: Any) -> Any:
    """The result; one that is not to be relied upon has neither p-value nor lift."""
    mine = {name: value for name, value in NO_VERDICT.items() if hasattr(result, name)}
    return replace(result, **mine) if mine and Status.BREAKDOWN_POINT_EXCEEDED in result.flags else result
