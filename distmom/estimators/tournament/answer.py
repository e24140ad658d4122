"""From the rounds of a tournament to its result: the league table and what to say about it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from distmom.errors import NoAnswerError
from distmom.estimators.facts import data_facts
from distmom.estimators.surveyed import ALIKE, NOT_TO_RELY, Survey, left_out
from distmom.estimators.tournament.options import TournamentOptions
from distmom.numerics.arrays import Floats, Ints
from distmom.numerics.losses.duels import differences
from distmom.numerics.median import lower_median
from distmom.report import CandidateResult, Duels, MeanResult, TournamentResult
from distmom.report.words import listed
from distmom.solvers.tournament import Decided
from distmom.status import Status
from distmom.theory.intervals import least_order_blocks, order_rank
from distmom.words import printable

if TYPE_CHECKING:
    from distmom.cluster.work import SkippedFile
    from distmom.estimators.tournament.plan import TournamentPlan

Interval = tuple[float, float] | None


@dataclass(frozen=True)
class TournamentOutcome:
    """What the rounds leave behind, of m candidates."""

    decided: Decided
    rows: dict[str, Any]  # that passed the filter, are used, null, NaN, infinite, as results call them
    plain: Floats  # (m,): plain risks
    missing: Ints  # (m,): rows without a finite prediction
    skipped: tuple[SkippedFile, ...]  # files that were left out
    intervals: bool = (
        True  # whether blocks are independent, so that their spread says how far risks may be off
    )
    cells: Ints | None = None  # (m,): most cells of each in a block, where candidates are partitions


@dataclass(frozen=True)
class Before:
    """What is known before the matches.

    Attributes
    ----------
    survey : Survey
        What was left out.
    means : dict of str to MeanResult
        Robust mean losses, of those candidates that have one.
    by_rule : bool
        Whether they are the risks; else statuses alone are theirs, as the number of blocks is given.
    losses : tuple of str
        Columns of `survey` that are losses.
    others : dict of str to tuple of int
        Champions of other rows, where it is not clear which rows are bad.
    settled : tuple of int
        Beyond the breakdown point: the champion of the rows without those far out, if these decide alone.
    """

    survey: Survey
    means: dict[str, MeanResult]
    by_rule: bool
    losses: tuple[str, ...] = ()
    others: dict[str, tuple[int, ...]] = field(default_factory=dict)
    settled: tuple[int, ...] = ()

    def disputes(self, champions: tuple[int, ...]) -> bool:
        """Whether others are the champions of other rows."""
        return any(set(one) != set(champions) for one in self.others.values())

    def with_doubts(self, names: Sequence[str], champions: Sequence[int]) -> Before:
        """The same, beyond the breakdown point where a champion's loss is, or one that may be less.

        That is one that is less than the champion's without some of the extremes (at most 5% of the rows).
        Losses that are infinite are what a candidate is like.
        """
        first = [self.means[names[f]] for f in champions if names[f] in self.means]
        told = []
        for name, one in self.means.items():
            if Status.BREAKDOWN_POINT_EXCEEDED not in one.flags or one.n_inf:
                continue
            pairs = [zip(one.without_extremes, best.without_extremes, strict=False) for best in first]
            if one in first or any(a.mean < b.mean for pair in pairs for a, b in pair):
                told.append(f"more of the loss of {name} is bad than can be separated from the rest")
        return replace(self, survey=replace(self.survey, beyond=(*self.survey.beyond, *told)))


ORDER = (
    *(Status.BREAKDOWN_POINT_EXCEEDED, Status.NOT_DECIDED, Status.CYCLE, Status.SHARE_SCREENED_OUT),
    *(Status.FILES_DISAGREE, Status.CONTAMINATED, Status.SHARE_FAR_OUT, Status.ROWS_CORRELATED),
    *(Status.DOMINATED_BY_FEW_ROWS, Status.SAMPLE_MEAN),
)
"""Flags of a candidate, the most serious first."""


def tournament_result(
    plan: TournamentPlan, found: TournamentOutcome, run: dict[str, Any], before: Before
) -> TournamentResult:
    """The result.

    NoAnswerError if no candidate has a finite loss.
    """
    names = tuple(c.name for c in plan.field.candidates)
    one, options, survey = found.decided, plan.options, before.survey
    if not any(np.isfinite(v).any() for v in one.losses):
        raise NoAnswerError("no candidate has a finite loss in any block; check candidates and target")
    data = data_facts(plan.every.files, found.skipped, plan.every) | plan.keeper.facts()
    lines = [
        _line(options, found, before, f, names, candidate=name, data=data, run=run)
        for f, name in enumerate(names)
    ]
    champions, finalists = (before.settled if survey.beyond else one.champions), one.rounds.finalists
    places = {name: _place(found, champions or one.champions, f) for f, name in enumerate(names)}
    order = sorted(lines, key=lambda line: (places[line.name], line.estimate))
    settings = {
        "beta_r_found": one.rounds.found,
        "loss": options.loss_name,
        "loss_parameter": options.loss_parameter,
        "distance": options.measured,
        "parts": options.n_parts,
        "blocks": [v.shape[1] for v in one.losses],
        "scheme": options.design.scheme,
        "pairs": options.pairs.name if options.pairwise else None,
        "contamination": plan.outlying,
        "cycle": one.cycle,
        "rounds": one.distances.n_rounds,
    }
    return TournamentResult(
        order,
        Duels(names, one.loses, one.margins, one.distances.known, one.last_loses, one.losses),
        tuple(names[f] for f in sorted(champions)),
        tuple(names[f] for f in sorted(finalists)),
        one.rounds.level,
        settings,
        data,
        run,
        far_rows=survey.far,
        accused_files=survey.files,
        remarks=_remarks(before, found, names, lines[0].level),
    )


def _place(found: TournamentOutcome, champions: Sequence[int], f: int) -> int:
    return 0 if f in champions else 1 if f in found.decided.rounds.finalists else 2


def _remarks(before: Before, found: TournamentOutcome, names: tuple[str, ...], level: str) -> tuple[str, ...]:
    """What was left out before the matches, or should have been."""
    survey, told = before.survey, []
    if survey.files:
        some = listed(map(printable, survey.files))
        told.append(f"{left_out(survey.files)}: {some}")
    stored = [far for far in survey.far if far.column not in before.losses]
    most = max((far.share for far in stored), default=0.0)
    for far in survey.far:  # of losses what the columns behind them do not tell
        if far in stored or far.share > 1.01 * most:
            told += far.words(level, "", numbers=far in stored)
    told += [f"{words}: {NOT_TO_RELY}" for words in dict.fromkeys(survey.beyond)]
    if survey.correlated:
        alike = ALIKE.format(CandidateResult.remedies.files)
        told.append(f"rows within a file are correlated ({listed(survey.correlated)}), {alike}")
    for words, champions in before.others.items():
        those = listed([names[f] for f in champions])
        if survey.beyond and champions == before.settled:
            told.append(
                f"{words} the champion is {those}, and the others are worse: that holds if they are bad"
            )
        elif set(champions) != set(found.decided.champions):
            told.append(f"{words} the champion is {those}: whether these are bad decides which is best")
    return tuple(told)


def _line(
    options: TournamentOptions,
    found: TournamentOutcome,
    before: Before,
    f: int,
    names: tuple[str, ...],
    **about: Any,
) -> CandidateResult:
    one, rounds = found.decided, found.decided.rounds
    values = np.concatenate([v[f] for v in one.losses])
    plain, threshold = float(found.plain[f]), float(rounds.thresholds[f])
    others = np.arange(len(one.loses)) != f
    allowed = others & (one.distances.at_least(f) > rounds.level)
    lost = int((allowed & one.loses[f]).sum())
    non_finite = int(np.isinf(values).sum())
    champion = f in one.champions
    mean = before.means.get(names[f])
    alike = [names[g] for g in not_worse(found, f, options)] if champion else []
    flags = {*before.survey.flags(), *(() if mean is None else mean.flags)}
    if champion and one.cycle:
        flags.add(Status.CYCLE)
    if champion and not before.survey.beyond and (alike or before.disputes(one.champions)):
        flags.add(Status.NOT_DECIDED)
    place = (Status.CHAMPION, Status.FINALIST, Status.BEATEN)[_place(found, one.champions, f)]
    estimate, interval = _risk(options, found, values, mean if before.by_rule else None)
    return CandidateResult(
        status=Status.BREAKDOWN_POINT_EXCEEDED if before.survey.beyond else place,
        flags=tuple(flag for flag in ORDER if flag in flags),
        estimate=estimate,
        interval=interval,
        plain_estimate=plain,
        plain_interval=_plain_interval(plain, values, options.rows.delta) if found.intervals else None,
        threshold=None if np.isnan(threshold) else threshold,
        n_allowed=int(allowed.sum()),
        n_won=int(allowed.sum()) - lost,
        n_lost=lost,
        n_not_evaluated=int((others & ~allowed & np.isnan(one.distances.known[f])).sum()),
        n_missing=int(found.missing[f]),
        n_blocks=values.size,
        n_non_finite_blocks=non_finite,
        **found.rows,
        confidence_level=options.rows.confidence_level,
        notes=(*_notes(found, f, non_finite, values.size), *_doubts(mean, alike)),
        **about,
    )


def not_worse(found: TournamentOutcome, f: int, options: TournamentOptions) -> list[int]:
    """The candidates that the blocks of all parts do not tell to be worse than f.

    By the sign test, at levels that together, over all rivals of the best candidate, are the confidence
    level: so however a champion was chosen. Blocks that are no independent ones tell by their majority alone.
    """
    losses = np.concatenate(found.decided.losses, axis=1)
    m, told = len(losses), []
    for g in range(m):
        d = differences(losses[f], losses[g])
        better, worse = int((d < 0.0).sum()), int((d > 0.0).sum())
        rank: int | None = better
        if found.intervals:  # two sides of an order interval are one of the test
            n = better + worse
            rank = order_rank(n, min(2.0 * options.rows.delta / (m - 1), 0.5)) if n else None
        if g != f and (rank is None or worse >= rank):
            told.append(g)
    return told


def _risk(
    options: TournamentOptions, found: TournamentOutcome, values: Floats, mean: MeanResult | None
) -> tuple[float, Interval]:
    """A risk and its interval: the robust mean loss, else the median of the blocks of all parts.

    Where their number is not given and rows have passed but once, neighbours are taken together until there
    are as few as the rule takes: the medians of many blocks of a skewed loss are too low.
    """
    if mean is not None and np.isfinite(mean.estimate):
        return mean.estimate, mean.interval
    free = options.design.number is None and options.rows.contamination is None
    if free and not options.pairwise and np.isfinite(values).all():
        least = least_order_blocks(options.rows.delta)
        n_blocks = min(values.size, max(least, math.isqrt(found.rows["n_used"]) // 4))
        values = np.array([part.mean() for part in np.array_split(values, n_blocks)])
    interval = _order_interval(values, options.rows.delta) if found.intervals else None
    return float(lower_median(values)), interval


def _doubts(mean: MeanResult | None, alike: list[str]) -> list[str]:
    """What is to be said of a risk, and of a place."""
    told = []
    if alike:
        told.append(f"not decided: {listed(map(printable, alike))} may be as good at this confidence level")
    if mean is not None:
        far = mean.far_rows
        if far is not None and far.action == "screened out":
            words = far.words(mean.level, "", numbers=False)
            told += [f"{one}; the matches have these rows" for one in words]
        told += mean.notes
    return told


def _order_interval(values: Floats, delta: float) -> Interval:
    """Order statistics of the block losses of all parts."""
    rank = order_rank(values.size, delta)
    if rank is None:
        return None
    ordered = np.sort(values)
    low, high = float(ordered[rank - 1]), float(ordered[values.size - rank])
    return (low, high) if np.isfinite(high) else None


def _plain_interval(mean: float, values: Floats, delta: float) -> Interval:
    """Normal interval from the spread between blocks."""
    if values.size < 2 or not np.isfinite(values).all():
        return None
    with np.errstate(over="ignore"):
        half = NormalDist().inv_cdf(1.0 - delta / 2.0) * float(values.std(ddof=1)) / values.size**0.5
    return (mean - half, mean + half) if np.isfinite(half) else None


def _notes(found: TournamentOutcome, f: int, non_finite: int, n_blocks: int) -> tuple[str, ...]:
    notes = []
    missing = int(found.missing[f])
    if non_finite:
        why = f": {missing:,} rows have no finite prediction" if missing else ""
        notes.append(
            f"the loss is not finite in {non_finite:,} of {n_blocks:,} blocks, which count as lost{why}"
        )
    if found.cells is not None and found.cells[f] != found.cells.min():
        notes.append(
            f"has up to {found.cells[f]} cells in a block, another partition up to {found.cells.min()}: "
            "every split of a cell lowers the loss, so compare only partitions into equally many cells"
        )
    return tuple(notes)
