"""A bad share of rows: what stands apart in the row sample, and the answer from the remaining rows.

The answer from all rows is kept, bit for bit, if it agrees with that from the remaining rows: the blocks have
then tolerated the bad rows. It changes only if it is off by more than a few standard errors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from distmom.estimators.mean.counts import n_effective
from distmom.estimators.mean.partition import (
    correlated,
    error_of,
    errors_allowed,
    partition_fields,
    screened_out,
    stands,
)
from distmom.estimators.mean.rule.answers import answer_columns
from distmom.estimators.mean.rule.sample import odd_parts, of_parts, of_sample
from distmom.inference.share.extremes import without_extremes
from distmom.inference.share.growth import PARTS, explained, growth
from distmom.inference.share.look import NO_CUT, Look
from distmom.inference.share.ranks import share_interval
from distmom.inference.share.scale import block_scale, sample_scale
from distmom.inference.status import NoInterval, in_order
from distmom.numerics.arrays import Bools, Floats, Ints
from distmom.numerics.samples.distinct import UnitSketch
from distmom.numerics.samples.pool import all_in_order
from distmom.reductions.state import MeanState
from distmom.report.far_rows import Action, FarRows, Trimmed
from distmom.report.histogram import histogram
from distmom.status import Status

if TYPE_CHECKING:
    from distmom.estimators.mean.plan import MeanPlan

CONTRADICT = 9.2
"""Standard errors by which the sample's own answer may differ if nothing stands apart."""

DISAGREE = 4.0
"""Standard errors by which blocks of units or samples may differ from the remaining rows."""

Cuts = tuple[tuple[float, ...], tuple[float, ...]]
"""Lower and upper ends for some groups; the last ones are for all other groups."""


def looks_of(state: MeanState, share: float | None = None) -> tuple[Look, ...]:
    """What stands apart in each column; nothing if no large sample was kept. A `share` of rows may be bad."""
    return tuple(Look(pool, share) for pool in all_in_order(state.pools))


def cuts_of(looks: Sequence[Look]) -> tuple[Cuts, ...]:
    """Cuts for a second pass over the rows; `NO_CUT` if nothing is to be cut, or a sample has all rows."""
    cuts = [NO_CUT if np.isinf(look.pool.below) else look.second_cut for look in looks]
    return tuple(((low,), (high,)) for low, high in cuts)


@dataclass(frozen=True)
class Found:
    """The answer from all rows next to that from the remaining rows: for a column, or for vectors.

    Attributes
    ----------
    plan : MeanPlan
    looks : tuple of Look
        Looks at these columns.
    columns : slice
    shared, first : dict
        Fields of the result from all rows: those that do not depend on the blocks, and the others.
    second : MeanState, optional
        State of a second pass over the rows within the cuts.
    units : UnitSketch, optional
        Files, if these form the blocks.
    """

    plan: MeanPlan
    looks: tuple[Look, ...]
    columns: slice
    shared: dict[str, Any]
    first: dict[str, Any]
    second: MeanState | None
    units: UnitSketch | None = None

    @property
    def complete(self) -> bool:
        """Whether the sample contains all rows."""
        return bool(np.isinf(self.looks[0].pool.below))

    @cached_property
    def kept(self) -> Bools:
        """Rows of the sample that stand apart in no column."""
        return np.asarray(np.logical_and.reduce([look.kept for look in self.looks]))

    def fields(self) -> dict[str, Any]:
        """The fields that change."""
        if not self._some:
            return {}
        if self.plan.options.design.blind:
            return self._marked()
        if self.plan.options.window is not None:
            return self._given(self.plan.options.window) | self._of_look()
        apart = any(look.apart.n for look in self.looks)
        found = self._with_rows_apart() if apart else self._without()
        return found if len(self.looks) > 1 else found | self._of_look()

    def _given(self, share: float) -> dict[str, Any]:
        """The mean over a window that a given share of the rows cannot move far."""
        [look], options = self.looks, self.plan.options
        window = look.given
        estimate, n = window.estimate, window.kept
        if self.second is not None:
            rows = self.second.moments.at((self.columns.start, 0, slice(self.plan.blocks.layout.n_blocks)))
            n, estimate = int(rows.count.sum()), float(rows.total().mean)
        exact = options.interval != "order"
        half = window.margin(options.confidence_level, n, exact=exact)
        bounds = (estimate - half, estimate + half)
        told = self._told("screened out", n if self.second is not None else None) if look.apart.n else {}
        return told | {
            "estimate": estimate,
            "interval": None if options.interval == "none" else bounds,
            "interval_kind": "none" if options.interval == "none" else "cantelli" if exact else "order",
            "interval_reason": NoInterval.NOT_WANTED.words if options.interval == "none" else None,
            "actual_level": None,
            "flags": (Status.BREAKDOWN_POINT_EXCEEDED,) if window.more_apart else (),
            "n_used": n,
            "n_blocks": 1,
            "block_size": (n, n),
            "block_estimates": np.array([estimate]),
            "n_non_finite_blocks": 0,
            "n_screened_out": 0,
            "path": (),
            "notes": (
                f"allows for {100 * share:.4g}% of arbitrary rows: the mean of the others in a window",
            ),
        }

    def _with_rows_apart(self) -> dict[str, Any]:
        again, n = self._again()
        flags = self.first["flags"]
        allowed = errors_allowed(flags)
        scales = [block_scale(look.pool.values[self.kept]) for look in self.looks]
        errors = np.array(scales) / math.sqrt(n)
        if self.plan.options.design.by_file:  # rows of a file are not independent
            errors = np.maximum(errors, error_of(self.first["block_estimates"]))
        agree = self._agree(again["estimate"], allowed * errors)
        group = any(look.group.n for look in self.looks)
        if stands(flags, agree=agree):
            return self._as_told() if group else self._told("borne")
        again = screened_out(self.first, again, of_sample=self.blind)
        if group:
            far = self._told("told")["far_rows"]
            words = far.words(f"{100 * self.plan.options.confidence_level:.6g}%", "", numbers=False)
            flags = in_order([*again["flags"], Status.SHARE_FAR_OUT])
            again |= {"flags": flags, "notes": (*again["notes"], *words)}
        return again | {"n_used": n} | self._told("screened out", n)

    def _without(self) -> dict[str, Any]:
        by_file = self.plan.options.design.by_file
        borne = by_file and Status.CONTAMINATED in self.first["flags"]
        told = self._as_told() if not borne and any(look.near.n for look in self.looks) else {}
        if self.complete or by_file:
            return told
        if not self.unsure:
            return told
        if not self.doubted or self._agree(self.of_all, self._allowed + self._explained(self.of_all)):
            return told
        again, m = self._of_sample(self.kept)
        again = correlated(self.first, again, of_sample=self.blind)
        return (
            again
            | told
            | {"flags": in_order((Status.BREAKDOWN_POINT_EXCEEDED, *again["flags"])), "n_used": m}
        )

    @cached_property
    def unsure(self) -> bool:
        """Whether nothing stands apart, but a quick check of the sample does not confirm the estimate."""
        options = self.plan.options
        if options.design.blind or options.design.by_file or options.window is not None:
            return False
        if not self._some or self.complete or any(look.apart.n for look in self.looks):
            return False
        centres = [look.centre for look in self.looks]
        # the smaller scale first, which is faster and suffices for most columns
        scales = [block_scale(look.pool.values) for look in self.looks]
        if self._agree(centres, np.multiply(scales, self._errors / 2)):
            return False
        return not self._agree(centres, self._allowed / 2.0)

    @property
    def _some(self) -> bool:
        """Whether there are rows, and a finite estimate."""
        return bool(np.isfinite(self.first["estimate"]).all() and self.looks[0].ordered.size)

    @property
    def _errors(self) -> float:
        """How far the sample's own answer may be off, in units of the scale of its rows."""
        return CONTRADICT * float(self.kept.size**-0.5 + self.shared["n_used"] ** -0.5)

    @cached_property
    def _allowed(self) -> Floats:
        """The same for each column."""
        scales = [sample_scale(look.pool.values, look.ordered) for look in self.looks]
        return np.multiply(scales, self._errors)

    @cached_property
    def of_all(self) -> Any:
        """The estimate from all rows of the sample."""
        [estimate] = self._of_parts(np.zeros(self.kept.size, np.int64), 1)
        return estimate

    @cached_property
    def of_each_part(self) -> list[Any]:
        """The estimate from each of `PARTS` parts of these rows."""
        return self._of_parts(np.arange(self.kept.size) * PARTS // self.kept.size, PARTS)

    @property
    def doubted(self) -> bool:
        """Whether the estimate from the sample differs."""
        return not self._agree(self.of_all, self._allowed)

    def _marked(self) -> dict[str, Any]:
        """Flags from the rows of the sample for blocks of units or samples, which they cannot replace."""
        again, n = self._again()
        scales = [block_scale(look.pool.values[self.kept]) for look in self.looks]
        own = error_of(self.first["block_estimates"])
        allowed = DISAGREE * np.hypot(np.divide(scales, math.sqrt(n)), own)
        agree = self._agree(again["estimate"], allowed)
        if not agree and self.second is None:
            agree = self._agree(again["estimate"], allowed + self._explained(again["estimate"]))
        apart = any(look.apart.n for look in self.looks)
        if agree:
            near = any(look.near.n for look in self.looks)
            return self._told("borne") if apart else self._as_told() if near else {}
        flags = in_order((Status.BREAKDOWN_POINT_EXCEEDED, *self.first["flags"]))
        return (self._told("told") if apart else {}) | {"flags": flags}

    @property
    def blind(self) -> bool:
        """Whether the answer is that of a sample without information on files."""
        return self.second is None and self.looks[0].pool.files is None

    def _as_told(self) -> dict[str, Any]:
        """What stands apart but is kept, with its status."""
        return self._told("told") | {"flags": in_order([*self.first["flags"], Status.SHARE_FAR_OUT])}

    def _agree(self, again: Any, allowed: Any) -> bool:
        """Whether another answer agrees within the allowed difference in each column."""
        apart = np.abs(np.atleast_1d(self.first["estimate"]) - np.atleast_1d(again))
        return bool((apart <= np.asarray(allowed)).all())

    def _again(self) -> tuple[dict[str, Any], int]:
        """The answer from the remaining rows, and their number: of all rows, or of the sample."""
        if self.second is None:
            return self._of_sample(self.kept)
        return self._of(self.plan, self.second, self.columns)

    def _of_sample(self, kept: Bools) -> tuple[dict[str, Any], int]:
        """The same from some rows of the sample."""
        plan, state = of_sample(self.plan, [look.pool.at(kept) for look in self.looks], self.units)
        again, n = self._of(plan, state, slice(0, len(self.looks)))
        if plan.roots:  # cells of the sample have other numbers then
            again["accused_files"] = self.first["accused_files"]
        return again, n

    def _of(self, plan: MeanPlan, state: MeanState, columns: slice) -> tuple[dict[str, Any], int]:
        blocks = slice(plan.blocks.layout.n_blocks or None)  # or only cells, of files
        n = int(state.moments.at((columns.start, 0, blocks)).count.sum())
        n //= plan.blocks.layout.repeats
        shared = [self.shared | {"n_used": n}]
        [again] = partition_fields(plan, state, columns, shared, answer_columns(plan, state, columns))
        again |= {"plain_estimate": self.first["plain_estimate"]}
        if plan.options.weights is not None:
            again["n_effective"] = n_effective(plan, state, columns.start, 0)
        return again, n

    def _explained(self, estimate: Any) -> Floats:
        """How much of the difference from the sample's answer is due to its fewer rows under a heavy tail."""
        m = int(self.kept.sum())
        grown = growth(estimate, self.of_each_part, m, int(self.shared["n_used"]))
        return explained(self.first["estimate"], estimate, grown)

    def _of_parts(self, parts: Ints, n_parts: int) -> list[Any]:
        """The estimate from the kept rows of each part: all at once, except parts that may have odd files.

        Other findings about a sample, such as dependence, do not move an estimate.
        """
        pools, alone = [look.pool.at(self.kept) for look in self.looks], np.ones(n_parts, np.bool_)
        if self.units is None and pools[0].weights is None:
            of_rows = parts[self.kept]
            plan, state = of_parts(self.plan, pools, np.bincount(of_rows, minlength=n_parts))
            at_once = answer_columns(plan, state, slice(0, len(pools)))
            alone = np.logical_or.reduce(odd_parts(plan, state, pools, of_rows))
        return [
            self._of_sample(self.kept & (parts == i))[0]["estimate"] if one else at_once.estimate(i).value
            for i, one in enumerate(alone.tolist())
        ]

    def _told(self, action: Action, n_kept: int | None = None) -> dict[str, Any]:
        """Report of what stands apart, in the column with most such rows; `n_kept` rows gave the answer."""
        looks = [look.near if action == "told" else look.apart for look in self.looks]
        c = int(np.argmax([apart.n for apart in looks]))
        apart, look = looks[c], self.looks[c]
        m = look.ordered.size
        column = None if len(self.looks) == 1 else self.shared["columns"][c]
        n_rows = apart.n if self.complete else None
        if self.second is not None and n_kept is not None:
            n_rows = int(self.shared["n_used"]) - n_kept
        share = apart.n / m if n_rows is None else n_rows / self.shared["n_used"]
        level = self.plan.options.confidence_level
        far = FarRows(
            action=action,
            n_rows=n_rows,
            share=share,
            share_interval=(share, share) if n_rows is not None else share_interval(apart.n, m, level),
            estimate_with=self.first["estimate"],
            of_sample=n_kept is not None and self.second is None and not self.complete,
            column=column,
            **look.facts(apart),
        )
        return {"far_rows": far}

    def _of_look(self) -> dict[str, Any]:
        """What a column's sample shows, whatever is done with its rows."""
        ordered = self.looks[0].ordered
        trimmed = (
            Trimmed(w.share, w.mean, *w.ends, w.of_variance, w.of_mean) for w in without_extremes(ordered)
        )
        return {"without_extremes": tuple(trimmed), "histogram": histogram(ordered)}
