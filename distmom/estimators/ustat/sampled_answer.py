"""Results of samples that share rows: the lower median of their statistics, and the bound for such a one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from distmom.errors import NoAnswerError
from distmom.estimators.mean.answer import shared_fields
from distmom.estimators.mean.paper_samples import paper_sample_halfwidth
from distmom.estimators.mean.plan import MeanPlan
from distmom.estimators.ustat.answer import SAME, pooled, sigmas_of, together, why_none
from distmom.estimators.ustat.files import disagreeing_columns, disagreement_note
from distmom.estimators.ustat.options import UStatOptions
from distmom.estimators.ustat.tuple_samples import SampledTuples
from distmom.inference.status import Status, status_list
from distmom.numerics.arrays import Bools, Floats, Ints
from distmom.numerics.kernels.tuples import part_weights
from distmom.numerics.median import lower_median
from distmom.reductions.rows.block_kernel import BlockStatistics
from distmom.reductions.state import MeanState
from distmom.report import UStatisticResult
from distmom.theory import resampled_halfwidth, row_inverse_inclusion


@dataclass(frozen=True)
class SampleAnswerer(ABC):
    """All that an answer is made from.

    Attributes
    ----------
    options : UStatOptions
    plan : MeanPlan
        Of the first pass.
    states : tuple of MeanState
        What it found, for each lake.
    """

    options: UStatOptions
    plan: MeanPlan
    states: tuple[MeanState, ...]

    @property
    @abstractmethod
    def sizes(self) -> Ints:
        """What each sample holds that counts: rows, or pairs."""

    @property
    @abstractmethod
    def n_tuples(self) -> tuple[int, ...]:
        """Tuples of rows of each sample."""

    @property
    @abstractmethod
    def means(self) -> Floats:
        """Means of the parts of the kernel in each sample, shape (K, parts)."""

    @property
    @abstractmethod
    def spread(self) -> Floats:
        """Estimated variance inside each sample; 0 where all its values are equal."""

    @abstractmethod
    def halfwidth(self, kind: str) -> tuple[float, str | None]:
        """Half-width of the interval, or why there is none; only asked for where no sample is ruined."""

    @property
    def n_used(self) -> list[int]:
        """Rows of each lake that count."""
        fields = (shared_fields(self.plan, state, 0, "", 0, None) for state in self.states)
        return [int(one["n_used"]) for one in fields]

    def sigmas(self) -> dict[str, Any]:
        """Variances of the kernel's projections, if they are known."""
        return {}

    def losses(self) -> list[str]:
        """Notes about what was drawn and does not count."""
        return []

    @property
    def filled(self) -> Bools:
        """Samples that hold a tuple of rows."""
        return np.array([n > 0 for n in self.n_tuples])

    def result(self, column: str) -> UStatisticResult:
        """The result of all rows.

        Raises
        ------
        NoAnswerError
            If there is no finite answer.
        """
        each = [shared_fields(self.plan, state, 0, column, 0, None) for state in self.states]
        shared = each[0] if len(each) == 1 else together(each)
        filled = self.filled
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            parts = np.moveaxis(self.means, 1, 0)
            values = np.asarray(self.options.kernel.combine(*parts), np.float64)[filled]
        sizes, k = self.sizes[filled], int(filled.sum())
        ruined = int((~np.isfinite(values)).sum())
        finite = k > 0 and ruined <= (k + 1) // 2 - 1
        estimate = float(lower_median(values)) if finite else float("nan")
        constant = bool(finite and (values == values[0]).all() and (self.spread[filled] == 0.0).all())
        kind = "exact" if self.plan.options.interval == "auto" else self.plan.options.interval
        interval, reason = self._interval(kind, estimate, ruined, constant)
        status, notes = 0 if finite else int(Status.NO_FINITE_ANSWER), [SAME] if constant else []
        named = (name for state in self.states for name in disagreeing_columns(self.plan, state)[0])
        disagreeing = tuple(dict.fromkeys(named))
        if disagreeing:
            status |= int(Status.FILES_DISAGREE)
            notes.append(disagreement_note(disagreeing))
        if 0 < k < filled.size:
            notes.append(f"{filled.size - k} of {filled.size} samples hold no tuple of rows and are left out")
        found = UStatisticResult(
            kernel=self.options.kernel.name,
            estimate=estimate,
            interval=interval,
            interval_kind=kind,
            interval_reason=reason,
            status=tuple(status_list(status)),
            n_blocks=k,
            block_size=(int(sizes.min()), int(sizes.max())) if k else (0, 0),
            n_ruined_blocks=ruined,
            plain_estimate=pooled(self.options.kernel, self.means, self.n_tuples),
            statistic=self.options.statistic,
            pairs=self.options.pairs,
            n_pairs=sum(self.n_tuples),
            block_estimates=values.copy(),
            notes=(*notes, *self.losses()),
            **self.sigmas(),
            **shared,
        )
        if not finite:
            raise NoAnswerError(why_none(found, self.options.degree))
        return found

    def _interval(
        self, kind: str, estimate: float, ruined: int, constant: bool
    ) -> tuple[tuple[float, float] | None, str | None]:
        if kind == "none":
            return None, "not asked for"
        if not np.isfinite(estimate):
            return None, "there is no finite answer"
        if ruined:
            return None, "the bound for samples does not allow for ruined blocks"
        if constant:
            return (estimate, estimate), None
        typical = float(lower_median(self.spread[self.filled]))
        if np.isnan(typical):
            return None, "the samples are too small to tell their variance"
        if typical == 0.0:
            return None, "more than half of the blocks are constant"
        half, reason = self.halfwidth(kind)
        if reason is None and not np.isfinite(half):
            reason = "the variance of the statistic is not known: there are too few rows"
        return (None, reason) if reason is not None else ((estimate - half, estimate + half), None)


@dataclass(frozen=True)
class PairAnswerer(SampleAnswerer):
    """Of samples of pairs.

    Attributes
    ----------
    found : SampledTuples
    """

    found: SampledTuples

    @property
    def sizes(self) -> Ints:  # noqa: D102
        return self.found.moments.count

    @property
    def n_tuples(self) -> tuple[int, ...]:  # noqa: D102
        return tuple(self.found.moments.count.tolist())

    @property
    def means(self) -> Floats:  # noqa: D102
        return self.found.moments.mean

    @property
    def spread(self) -> Floats:  # noqa: D102
        moments = self.found.moments
        return moments.variance(part_weights(self.found.kernel, *lower_median(moments.mean, axis=0)))

    def halfwidth(self, kind: str) -> tuple[float, str | None]:  # noqa: D102
        return float(self.found.halfwidth(self.plan.options.delta, self.n_used)), None

    def losses(self) -> list[str]:  # noqa: D102
        dropped, drawn = self.found.n_dropped, self.found.n_asked * self.found.n_blocks
        if not dropped:
            return []
        pairs = "pairs" if sum(self.options.kernel.degrees) == 2 else "tuples"
        return [f"{dropped:,} of {drawn:,} {pairs} drawn have a row that does not count and are left out"]


@dataclass(frozen=True)
class BlockAnswerer(SampleAnswerer):
    """Of samples of rows.

    Attributes
    ----------
    blocks : BlockStatistics
    drawn : tuple of int
        Rows of each lake drawn for each sample, those that do not count included.
    n_rows : tuple of int
        Rows that they were drawn from.
    """

    blocks: BlockStatistics
    drawn: tuple[int, ...]
    n_rows: tuple[int, ...]

    @property
    def sizes(self) -> Ints:  # noqa: D102
        return np.asarray(self.blocks.sizes.sum(axis=1))

    @property
    def n_tuples(self) -> tuple[int, ...]:  # noqa: D102
        return self.blocks.n_tuples

    @property
    def means(self) -> Floats:  # noqa: D102
        return self.blocks.means

    @property
    def spread(self) -> Floats:  # noqa: D102
        return self.blocks.variance

    def halfwidth(self, kind: str) -> tuple[float, str | None]:
        """By the bound for samples, or that of the proposition.

        A block's variance is taken to be inverse to its size: that of the smallest one counts, and the chance
        that the largest one uses a given row. With replacement a block is a sample of the data's own
        distribution, whose statistic has about the variance of the complete one, which is added. Of several
        lakes the chance is that of the one that is drawn from most densely.
        """
        sizes, per_row = self.sizes[self.filled], self.spread * self.sizes
        typical = float(lower_median(per_row[self.filled]))
        smallest = int(sizes.min())
        if kind == "paper":
            used = self.n_used
            drawn = [d * n // of for d, n, of in zip(self.drawn, used, self.n_rows, strict=True)]
            return paper_sample_halfwidth(
                self.plan.options, typical / smallest, sizes.size, drawn, used, self.options.kernel.degrees
            )
        replacement = self.plan.options.design.replace
        variance = typical / smallest + (typical / sum(self.n_used) if replacement else 0.0)
        a = min(
            row_inverse_inclusion(n, int(size), replacement=replacement)
            for n, size in zip(self.n_used, self.blocks.sizes[self.filled].max(axis=0), strict=True)
        )
        return resampled_halfwidth(variance, sizes.size, a, self.plan.options.delta), None

    def sigmas(self) -> dict[str, Any]:  # noqa: D102
        return sigmas_of(self.options.kernel, self.blocks)
