"""The outcome of a tournament: champions, the league table, and every duel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from distmom.numerics.arrays import Bools, Floats
from distmom.remedies import ALLOWED, FILES, Remedies
from distmom.report.far_rows import FarRows
from distmom.report.result import Result
from distmom.report.results import Results
from distmom.report.values import plain
from distmom.report.words import number
from distmom.status import Status
from distmom.words import counted, printable


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class CandidateResult(Result):
    """One line of the league table.

    Attributes
    ----------
    candidate : str
    status : Status
        ``champion``, ``finalist`` or ``beaten``; ``breakdown point exceeded`` if bad rows or files could not
        be left out.
    flags : tuple of Status
        For a champion, ``not decided`` if the blocks do not show that every other candidate is worse, and
        ``cycle`` if every finalist lost to another one; ``share screened out`` and ``files disagree`` if rows
        or files were left out before the matches; and the flags of the mean loss.
    estimate, interval : float, (float, float) or None
        Robust risk: the mean loss as from `distmom.mean`, with its interval. With a given number of blocks
        (or losses of pairs), the lower median of the block losses of all parts, with its order-statistic
        interval.
    plain_estimate, plain_interval : float, (float, float) or None
        Mean loss of all rows, with the normal interval from the variation between blocks.
    threshold : float or None
        t_f, the largest distance to a candidate that beat this one; None if it was not evaluated.
    n_allowed, n_won, n_lost, n_not_evaluated : int
        Allowed matches; won and lost matches among these; matches not checked for being allowed, because they
        cannot change the outcome.
    n_missing : int
        Rows without a finite prediction: their loss is infinite.
    n_non_finite_blocks : int
        Blocks with a non-finite loss, of `n_blocks` in all parts.
    n_rows, n_used, n_null, n_nan, n_inf : int
        Rows of the target, the same for all candidates.
    """

    candidate: str
    estimate: float
    interval: tuple[float, float] | None
    plain_estimate: float
    plain_interval: tuple[float, float] | None
    threshold: float | None
    n_allowed: int
    n_won: int
    n_lost: int
    n_not_evaluated: int
    n_missing: int
    n_blocks: int
    n_non_finite_blocks: int

    remedies: ClassVar[Remedies] = Remedies(files=FILES, allowed=ALLOWED)
    several: ClassVar[str] = "candidates"
    shown: ClassVar[tuple[str, ...]] = (
        *("candidate", "status", "flags", "n_rows", "n_used", "n_missing", "estimate", "interval"),
        *("confidence_level", "plain_estimate", "plain_interval", "threshold", "n_allowed", "n_won"),
        *("n_lost", "n_not_evaluated", "n_blocks", "n_non_finite_blocks", "notes"),
    )

    @property
    def name(self) -> str:  # noqa: D102
        return self.candidate

    @property
    def heading(self) -> str:  # noqa: D102
        return "candidate"

    @property
    def ok(self) -> bool:  # noqa: D102
        return super().ok and not self.n_non_finite_blocks

    def records(self) -> list[dict[str, Any]]:  # noqa: D102
        return [self.flat(*self.shown)]

    def headers(self) -> tuple[str, ...]:  # noqa: D102
        return ("robust risk", f"{self.level} interval", "plain risk", "allowed", "won", "lost", "open", "t")

    def lines(self) -> list[tuple[str, tuple[str, ...]]]:  # noqa: D102
        matches = (self.n_allowed, self.n_won, self.n_lost, self.n_not_evaluated)
        return [(self.candidate, (*self.shown_values(), *map(str, matches), number(self.threshold)))]

    def left_out(self) -> dict[str, int]:  # noqa: D102
        return {}


@dataclass(frozen=True, eq=False)
class Duels:
    """The duels of all pairs of candidates; rows and columns are in the given order of candidates.

    Attributes
    ----------
    names : tuple of str
    loses : ndarray of bool, shape (m, m)
        ``loses[f, g]``: f has the larger loss on more than half of the blocks.
    margins : ndarray of float64, shape (m, m)
        Lower median of the block differences f - g.
    distances : ndarray of float64, shape (m, m)
        Phi(f, g); NaN if it was not evaluated.
    last_loses : ndarray of bool, shape (m, m), or None
        The duels of the last round; those among finalists counted.
    block_losses : tuple of ndarray of float64, shape (m, K)
        Block losses of each part.
    """

    names: tuple[str, ...]
    loses: Bools
    margins: Floats
    distances: Floats
    last_loses: Bools | None
    block_losses: tuple[Floats, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values; None if not evaluated or not finite."""
        told = {"candidates": self.names} | {name: getattr(self, name) for name in _MATRICES}
        return {name: plain(value) for name, value in told.items()}


_MATRICES = ("loses", "margins", "distances", "last_loses")


class TournamentResult(Results[CandidateResult]):
    """Champions, finalists and the league table: a sequence of `CandidateResult`, the best first.

    Parameters
    ----------
    results : sequence of CandidateResult
    duels : Duels
    champions, finalists : tuple of str
        In the given order of candidates. If the breakdown point is exceeded the champion is that of the rows
        without those far out, if these decide; else there is none.
    beta_r : float
        Distance above which a match is allowed.
    settings : dict
        ``beta_r_found`` (whether it was determined from the data), ``rule``, ``loss``, ``distance``,
        ``parts``, ``blocks`` (of each part), ``cycle``, ``rounds`` (passes for distances).
    data, run : dict
        As for `Results`.
    far_rows : tuple of FarRows
        Rows that were left out before the matches, or stand apart, with their column; a loss is one, too.
    accused_files : tuple of str
        Files that were left out.
    remarks : tuple of str
        Remarks on what was left out, or should have been.
    """

    title: ClassVar[str] = "Tournament"
    told_by: ClassVar[str] = "tournament"
    apart: ClassVar[tuple[str, ...]] = ("data", "run", "settings")

    def __init__(
        self,
        results: Sequence[CandidateResult],
        duels: Duels,
        champions: tuple[str, ...],
        finalists: tuple[str, ...],
        beta_r: float,
        settings: dict[str, Any],
        data: dict[str, Any],
        run: dict[str, Any],
        *,
        far_rows: tuple[FarRows, ...] = (),
        accused_files: tuple[str, ...] = (),
        remarks: tuple[str, ...] = (),
    ) -> None:
        super().__init__(results, data, run)
        self.duels = duels
        self.champions = champions
        self.finalists = finalists
        self.beta_r = beta_r
        self.settings = settings
        self.far_rows = far_rows
        self.accused_files = accused_files
        self.remarks = remarks

    @property
    def candidates(self) -> dict[str, CandidateResult]:
        """Lines of the table by the candidate's name."""
        return {r.name: r for r in self}

    @property
    def champion(self) -> str | None:
        """The champion with the smallest robust risk; beyond the breakdown point see ``champions``."""
        return self[0].name if self.champions else None

    @property
    def decided(self) -> bool:
        """Whether there is one champion, and all others are shown to be worse."""
        clear = bool(self.champions) and not self.exceeded
        return clear and not any(Status.NOT_DECIDED in r.flags for r in self)

    @property
    def exceeded(self) -> bool:
        """Whether the breakdown point is exceeded."""
        return self[0].status is Status.BREAKDOWN_POINT_EXCEEDED

    @property
    def cycle(self) -> bool:
        """Whether every finalist lost to another one in the last round."""
        return bool(self.settings["cycle"])

    def __repr__(self) -> str:
        names = ", ".join(self.champions) or "no champion"
        return f"<TournamentResult: {names} of {counted(len(self), 'candidate')}>"

    def to_dict(self) -> dict[str, Any]:
        """The JSON document: as for every command, with ``champions``, ``table``, ``duels``, ``survey``."""
        told = super().to_dict()
        order = {name: i for i, name in enumerate(self.duels.names)}
        table: list[dict[str, Any]] = []
        for r in self:
            ends = {"champion": r.name in self.champions, "finalist": r.name in self.finalists}
            matches = {k: getattr(r, f"n_{k}") for k in ("allowed", "won", "lost", "not_evaluated")}
            losses = [plain(part[order[r.name]]) for part in self.duels.block_losses]
            table.append({"candidate": r.name, **ends, **matches, "block_losses": losses})
        more = {name: plain(getattr(self, name)) for name in ("champions", "finalists", "beta_r", "settings")}
        far = [plain(one.to_dict()) for one in self.far_rows]
        seen = {"accused_files": list(self.accused_files), "far_rows": far, "remarks": list(self.remarks)}
        more |= {"table": table, "duels": self.duels.to_dict(), "survey": seen}
        return {"schema_version": told["schema_version"], "results": told["results"]} | more | told

    def closing(self) -> list[str]:  # noqa: D102
        names = ", ".join(self.champions)
        how = "found" if self.settings["beta_r_found"] else "given"
        beyond = ", breakdown point exceeded" if self.exceeded else ""
        lines = [
            f"champion{'s' if len(self.champions) > 1 else ''}: {names or 'none'}{beyond}; "
            f"{len(self.finalists)} of {len(self)} candidates were left at beta r = {number(self.beta_r)} "
            f"({how})"
        ]
        if self.champions and not self.decided and not self.exceeded:
            lines[0] += "; not decided"
        if self.cycle:
            lines.append(
                "every finalist lost to another one in the last round (a cycle): the champion is the one "
                "whose farthest winning opponent is nearest"
            )
        return [*lines, *self.remarks]

    @property
    def drawn_title(self) -> str:  # noqa: D102
        names = ", ".join(map(printable, self.champions[:3]))
        return f"champions: {names}; beta r = {number(self.beta_r)}"
