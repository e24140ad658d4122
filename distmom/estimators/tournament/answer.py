"""From the rounds of a tournament to its result: the league table and what to say about it."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from distmom.errors import NoAnswerError
from distmom.estimators.facts import data_facts
from distmom.estimators.tournament.options import TournamentOptions
from distmom.numerics.arrays import Floats, Ints
from distmom.numerics.median import lower_median
from distmom.report import CandidateResult, Duels, TournamentResult
from distmom.solvers.tournament import Decided
from distmom.status import Status
from distmom.theory.intervals import order_rank

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
    disagree: tuple[str | None, ...]  # of each what blocks of whole files say against those of rows
    intervals: bool = (
        True  # whether blocks are independent, so that their spread says how far risks may be off
    )
    cells: Ints | None = None  # (m,): most cells of each in a block, where candidates are partitions


def tournament_result(
    plan: TournamentPlan, found: TournamentOutcome, run: dict[str, Any]
) -> TournamentResult:
    """The result.

    NoAnswerError if no candidate has a finite loss.
    """
    one, options = found.decided, plan.options
    if not any(np.isfinite(v).any() for v in one.losses):
        raise NoAnswerError("no candidate has a finite loss in any block; check candidates and target")
    data = data_facts(plan.every.files, found.skipped, plan.every) | plan.keeper.facts()
    names = tuple(c.name for c in plan.field.candidates)
    lines = [_line(options, found, f, candidate=name, data=data, run=run) for f, name in enumerate(names)]
    champions, finalists = one.champions, one.rounds.finalists
    places = (Status.CHAMPION, Status.FINALIST, Status.BEATEN)
    order = sorted(lines, key=lambda line: (places.index(line.status), line.estimate))
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
    )


def _line(options: TournamentOptions, found: TournamentOutcome, f: int, **about: Any) -> CandidateResult:
    one, rounds, delta = found.decided, found.decided.rounds, options.rows.delta
    values = np.concatenate([v[f] for v in one.losses])
    plain, threshold = float(found.plain[f]), float(rounds.thresholds[f])
    others = np.arange(len(one.loses)) != f
    allowed = others & (one.distances.at_least(f) > rounds.level)
    lost = int((allowed & one.loses[f]).sum())
    ruined = int(np.isinf(values).sum())
    champion, bad_files = f in one.champions, found.disagree[f] is not None
    flags = ((Status.CYCLE, one.cycle and champion), (Status.FILES_DISAGREE, bad_files))
    return CandidateResult(
        status=Status.CHAMPION if champion else Status.FINALIST if f in rounds.finalists else Status.BEATEN,
        flags=tuple(flag for flag, holds in flags if holds),
        estimate=float(lower_median(values)),
        interval=_order_interval(values, delta) if found.intervals else None,
        plain_estimate=plain,
        plain_interval=_plain_interval(plain, values, delta) if found.intervals else None,
        threshold=None if np.isnan(threshold) else threshold,
        n_allowed=int(allowed.sum()),
        n_won=int(allowed.sum()) - lost,
        n_lost=lost,
        n_not_evaluated=int((others & ~allowed & np.isnan(one.distances.known[f])).sum()),
        n_missing=int(found.missing[f]),
        n_blocks=values.size,
        n_ruined_blocks=ruined,
        **found.rows,
        confidence_level=options.rows.confidence_level,
        notes=_notes(found, f, ruined, values.size),
        **about,
    )


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


def _notes(found: TournamentOutcome, f: int, ruined: int, n_blocks: int) -> tuple[str, ...]:
    notes = []
    missing = int(found.missing[f])
    if ruined:
        why = f": {missing:,} rows have no finite prediction" if missing else ""
        notes.append(f"the loss is not finite in {ruined:,} of {n_blocks:,} blocks, which count as lost{why}")
    if found.cells is not None and found.cells[f] != found.cells.min():
        notes.append(
            f"has up to {found.cells[f]} cells in a block, another partition up to {found.cells.min()}: "
            "every split of a cell lowers the loss, so compare only partitions into equally many cells"
        )
    against = found.disagree[f]
    return tuple(notes) if against is None else (*notes, against)
