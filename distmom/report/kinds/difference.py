"""The result of comparing two variants of an experiment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from distmom.remedies import UNIT, Remedies
from distmom.report.digits import three
from distmom.report.estimate import INTERVAL, EstimateResult, Interval
from distmom.report.words import cell, units_cells

APART = ("far_rows", "accused_files", "files_named", "notes")
"""Fields that are not in a flat row."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DifferenceResult(EstimateResult):
    """A robust difference between two variants, its interval, and what it was computed from.

    Attributes
    ----------
    metric : str
    denominator : str or None
        Column of the denominator of a ratio metric.
    by : str
        Column of the variants.
    control, variant : object
        Values of that column.
    estimate, difference : float
        Robust mean (or ratio) of the variant minus that of the control, from the differences of paired
        blocks. NaN if there is no finite answer.
    interval_kind : {"order", "cantelli", "none"}
    lift : float
        The difference relative to the control's mean; NaN with a `lift_reason` if that mean is not clearly
        different from 0.
    lift_interval : (float, float) or None
        Fieller's interval, which accounts for the error of the control's mean.
    lift_reason : str or None
    control_mean, variant_mean : float
        Robust mean (or ratio) of each.
    control_interval, variant_interval : (float, float) or None
    plain_estimate, plain_lift, plain_control, plain_variant : float
        The same from ordinary means; no lift if the control's mean does not differ significantly from 0.
    n_rows, n_used, n_null, n_nan, n_inf : int
        Rows of both variants together.
    n_used_control, n_used_variant : int
    unit : tuple of str, "file" or None
        Columns whose values define units.
    n_units_control, n_units_variant : int or None
        With `unit`: number of units with rows that pass the filter.
    n_units_in_both : int or None
        Units that occur in both variants.
    n_units_exact : bool or None
        Whether these are exact: up to 16,383 pairs of variant and unit.
    n_blocks : int
        Paired blocks of the answer.
    n_non_finite_blocks, n_screened_out : int
        Non-finite blocks; fine blocks that are outlying in either variant and were left out.
    block_estimates : ndarray of float64
        Differences of the paired blocks, whose lower median is the estimate.
    """

    metric: str
    denominator: str | None
    by: str
    control: Any
    variant: Any
    lift: float
    lift_interval: Interval | None
    lift_reason: str | None = None
    control_mean: float
    control_interval: Interval | None
    variant_mean: float
    variant_interval: Interval | None
    plain_lift: float
    plain_control: float
    plain_variant: float
    n_used_control: int
    n_used_variant: int
    unit: tuple[str, ...] | str | None = None
    n_units_control: int | None = None
    n_units_variant: int | None = None
    n_units_in_both: int | None = None

    remedies: ClassVar[Remedies] = Remedies(files=UNIT)
    told_by: ClassVar[str] = "numbers.tell_difference"
    shown: ClassVar[tuple[str, ...]] = (
        *("metric", "denominator", "by", "control", "variant", "difference", "interval", *INTERVAL),
        *("lift", "lift_interval", "lift_reason", "control_mean", "control_interval", "variant_mean"),
        *("variant_interval", "plain_difference", "plain_lift", "plain_control", "plain_variant"),
        *("status", "flags", "n_rows", "n_used", "n_null", "n_nan", "n_inf", "n_used_control"),
        *(
            "n_used_variant",
            "unit",
            "n_units_control",
            "n_units_variant",
            "n_units_in_both",
            "n_units_exact",
            "n_blocks",
        ),
        *("n_non_finite_blocks", "n_screened_out", "far_rows", "accused_files", "files_named", "notes"),
    )
    kind: ClassVar[str] = "Comparison of variants"
    several: ClassVar[str] = "differences"
    drawn: ClassVar[tuple[str, str]] = ("differences", "plain difference")
    what: ClassVar[tuple[str, str]] = ("estimate", "plain")

    @property
    def difference(self) -> float:
        """The estimate."""
        return float(self.estimate)

    @property
    def plain_difference(self) -> float:
        """The plain estimate."""
        return float(self.plain_estimate)

    @property
    def name(self) -> str:  # noqa: D102
        return f"{cell(self.variant)} − {cell(self.control)}"

    @property
    def heading(self) -> str:  # noqa: D102
        return self.metric if self.denominator is None else f"{self.metric} / {self.denominator}"

    @property
    def has_units(self) -> bool:  # noqa: D102
        return self.unit is not None

    def records(self) -> list[dict[str, Any]]:  # noqa: D102
        told = self.flat(*(name for name in self.shown if name not in APART))
        unit = ", ".join(self.unit) if isinstance(self.unit, tuple) else self.unit
        return [told | {"control": cell(self.control), "variant": cell(self.variant), "unit": unit}]

    def lines(self) -> list[tuple[str, tuple[str, ...]]]:  # noqa: D102
        control, variant = cell(self.control), cell(self.variant)
        none = ("",) if self.has_units else ()
        lift = three(self.lift, self.lift_interval, self.plain_lift)
        of_control = three(self.control_mean, self.control_interval, self.plain_control)
        of_variant = three(self.variant_mean, self.variant_interval, self.plain_variant)
        rows = f"{self.n_used_control:,}", f"{self.n_used_variant:,}"
        return [
            (self.name, (*self.shown_values(), "", *none, str(self.n_blocks))),
            (f"{variant} / {control} − 1", (*lift, "", *none, "")),
            (control, (*of_control, rows[0], *units_cells(self.n_units_control, self.n_units_exact), "")),
            (variant, (*of_variant, rows[1], *units_cells(self.n_units_variant, self.n_units_exact), "")),
        ]

    def remarks(self) -> list[str]:  # noqa: D102
        found = super().remarks()
        if self.lift_reason and self.interval_kind != "none":
            found.insert(len(found) - len(self.notes), f"no lift: {self.lift_reason}")
        return found
