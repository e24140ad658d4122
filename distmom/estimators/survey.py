"""One survey for every command: bad files and bad shares of rows, found before a statistic is computed.

Blocks bear bad rows and files up to a number. Beyond it what is bad must be left out before the blocks, and
the mean knows what that is: files by its cells of whole files, rows by its large row sample. So its question
is asked first. Where it finds nothing, nothing changes. Where files disagree, each file is looked at alone,
and the accused ones that stand out are left out; where a share of the rows stands apart, so is that share;
and the mean is asked again of what is left, until it has nothing to say, or nothing that can be repaired.
Where files are the blocks they bear bad ones themselves, and rows alone are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from distmom.designs.blocks import RandomBlocks
from distmom.designs.design import BlockDesign
from distmom.errors import ConfigError, DataError, NoAnswerError, ResourceError
from distmom.estimators.facts import run_facts
from distmom.estimators.mean.question import MeanQuestion
from distmom.estimators.options import MeanOptions
from distmom.estimators.surveyed import Survey
from distmom.inference.status import in_order
from distmom.lake.filters import as_filter
from distmom.lake.within import Within
from distmom.memory import Memory
from distmom.passes.scan import Scan
from distmom.report import MeanResult, Results, VectorResult
from distmom.report.far_rows import FarRows
from distmom.status import Status

if TYPE_CHECKING:
    from distmom.cluster import Executor, Progress
    from distmom.passes.riding import Rider

ROUNDS = 4
"""What is bad may hide what is less so: the mean is asked at most so many times."""

FEW, SOME = 10, 40
"""So many rows far out are borne by the blocks of any statistic, where they do not move the mean: between
the two, one in a thousand."""

BORNE = 4
"""One of so many given blocks may hold a row far out without moving their median far."""

CODE = 0.5
"""Of the rows that stand apart so many have one value where that value is a code."""

BY_ROWS = RandomBlocks()

PASSED_ON = (Status.CONTAMINATED, Status.ROWS_CORRELATED, Status.DOMINATED_BY_FEW_ROWS)
"""What the mean says of rows that are left, and what any statistic of them has to say, too."""

PASS = "a pass for the mean of these columns runs first; more follow if it finds bad files or rows"
"""What plans say of it."""


@dataclass(frozen=True)
class Surveyor:
    """Asks the mean of columns of a scan, on an executor.

    Attributes
    ----------
    seed : int
    bears : callable, optional
        Takes the number of used rows; so many rows far out are borne by the blocks of the statistic. By
        default a few, if the blocks of the mean bear them.
    experiment : bool
        Rows far out may be what an experiment is about: all but codes are told and left in.
    design : BlockDesign
        The blocks of the statistic. Those of units may bear bad rows that blocks of rows cannot.
    real : callable, optional
        Takes the rows far out that are to be left out, by column; tells the columns where they are real.
    same_files : bool
        What is compared lies in the same files, so what the rows of a file have in common cancels.
    asked : dict
        What the mean has said of a scan (which is kept, so that its identity is) and a column.
    confidence_level : float
        Of the means' intervals.
    together : int
        At most so many columns are asked for in one pass, fewer if there is no memory for them; 0: all.
    lists : bool
        Columns hold lists, and make one vector.
    riders : callable, optional
        Takes a scan and the columns of a pass over it; tells what is summed up in the same pass, if anything.
    """

    seed: int
    executor: Executor
    progress: Progress | None
    bears: Callable[[int], float] | None = None
    experiment: bool = False
    design: BlockDesign = BY_ROWS
    real: Callable[[Mapping[str, FarRows]], Collection[str]] | None = None
    same_files: bool = False
    asked: dict[tuple[int, str], tuple[Scan, Any]] = field(default_factory=dict)
    confidence_level: float = 0.99
    together: int = 0
    lists: bool = False
    riders: Callable[[Scan, Sequence[str]], Rider | None] | None = None

    def survey(self, scan: Scan, columns: Sequence[str]) -> Survey:
        """What is bad in any of these columns."""
        if scan.source.one_pass:
            return Survey(scan)
        try:
            means = self.means(scan, columns)
            if not any(self.worth(one) for one in means):
                return Survey(scan, means=tuple(means))
            return self._repaired(scan, columns, means)
        except (ConfigError, DataError, NoAnswerError):  # the command itself has the words for it
            return Survey(scan)

    def check(self, scan: Scan, columns: Sequence[str]) -> Memory:
        """The memory that it takes; ResourceError if that is not there. No row is read."""
        with suppress(ConfigError, DataError, NoAnswerError):
            few = columns[: self._at_once(scan, columns)]
            return self._question(scan, few, BY_ROWS).plan(self.executor, None).pass_.memory
        return Memory()

    def suspect(self, scan: Scan, columns: Sequence[str]) -> list[str]:
        """Those columns for which there is something to say."""
        if scan.source.one_pass:
            return []
        try:
            bad = [one.column for one in self.means(scan, columns) if self.worth(one)]
            return list(columns) if bad and self.lists else bad
        except (ConfigError, DataError, NoAnswerError):
            return []

    def _repaired(self, scan: Scan, columns: Sequence[str], means: Sequence[MeanResult]) -> Survey:
        """The scan without what is bad, and what that was."""
        now, files = scan, list[str]()
        far: dict[str, FarRows] = {}
        real = set[str]()
        for _ in range(ROUNDS):
            bad = self._bad_files([one for one in means if Status.FILES_DISAGREE in one.flags])
            cuts = (
                {} if bad else _far((m for m in means if _divisible(m) and m.column not in real), self._cuts)
            )
            if cuts and self.real is not None:
                real |= set(self.real(cuts))
                cuts = {name: one for name, one in cuts.items() if name not in real}
            if not bad and not cuts:
                break
            if bad:
                files, now = [*files, *bad], now.without(bad)
            else:
                now = within(now, cuts)
                far |= {name: replace(one, action="screened out") for name, one in cuts.items()}
            means = self.means(now, columns)
        told = {
            name: replace(one, action="told")
            for name, one in _far(means, lambda one: one.column in real or self._told(one)).items()
            if name not in far or one.times is not None
        }
        every = [
            replace(one, estimate_with=None, of_sample=False, column=name if len(columns) > 1 else one.column)
            for name, one in (*far.items(), *told.items())
        ]
        if self.design.by_file:
            now, files = within(scan, far) if far else scan, []
        beyond = tuple(self._beyond(means))
        if beyond and self.design.of_units:  # they may bear what rows do not; but only files bear bad files
            still = [m for m in means if Status.FILES_DISAGREE in m.flags and not self.design.by_file]
            beyond = tuple(self._beyond([*still, *self.means(now, columns, self.design)]))
        passed_on = in_order(flag for one in means for flag in self._passed_on(one))
        correlated = [one.column for one in means if Status.ROWS_CORRELATED in self._passed_on(one)]
        words = beyond, passed_on, tuple(correlated), tuple(columns), tuple(means)
        return Survey(now, tuple(sorted(files)), tuple(every), *words)

    def _question(self, scan: Scan, columns: Sequence[str], design: BlockDesign) -> MeanQuestion:
        promise: dict[str, Any] = {"confidence_level": self.confidence_level, "passes": 1}
        options = MeanOptions.of(scan, design, joint=self.lists, **promise)
        return MeanQuestion(scan, list(columns), None, options, rng=self.seed)

    def _at_once(self, scan: Scan, columns: Sequence[str]) -> int:
        """Columns that one pass takes: as many as there is memory for, at most `together`."""
        step = self.together or len(columns)
        while self.together and step > 1:
            try:
                self._question(scan, columns[:step], BY_ROWS).plan(self.executor, None)
            except ResourceError:
                step = -(-step // 2)
            else:
                break
        return step

    def means(self, scan: Scan, columns: Sequence[str], design: BlockDesign = BY_ROWS) -> list[MeanResult]:
        """The robust mean of each; NoAnswerError if none has one."""
        keys = [(id(scan), name) for name in columns]
        if design is BY_ROWS and all(key in self.asked for key in keys):
            return [self.asked[key][1] for key in keys]
        means: list[Any] = []
        step = self._at_once(scan, columns)
        for start in range(0, len(columns), step):
            some = columns[start : start + step]
            question = self._question(scan, some, design)
            if self.riders is not None and design is BY_ROWS:
                question.rider = self.riders(scan, some)
            try:
                plan, run = question.plan(self.executor, self.progress), run_facts(0.0, self.seed, 1)
                found = plan.run(self.executor, self.progress, run)
            except NoAnswerError:
                if start + step >= len(columns) and not means:
                    raise
                continue
            means += [one for one in Results.of(found) if isinstance(one, MeanResult | VectorResult)]
        if design is BY_ROWS:
            self.asked.update({(id(scan), one.column): (scan, one) for one in means})
        return means

    def _bad_files(self, means: Sequence[MeanResult]) -> tuple[str, ...]:
        """Those accused files that stand out alone, in the same column."""
        return tuple({file: None for one in means if one.files_named for file in one.accused_files})

    def _cuts(self, one: MeanResult) -> bool:
        """Whether the rows of a column that stand apart are to be left out."""
        far = one.far_rows
        if far is None or far.action == "told":
            return False
        n_far = far.share * one.n_used
        if self.bears is None and far.action == "borne" and n_far <= min(max(FEW, one.n_used / 1_000), SOME):
            return False
        if self.bears is not None and n_far <= self.bears(one.n_used):
            return False
        return not self.experiment or _is_code(far)

    def _told(self, one: MeanResult) -> bool:
        """Whether rows that stay in are worth a word."""
        far = one.far_rows
        return far is not None and (
            far.action == "told" or (self.experiment and far.action == "screened out")
        )

    def worth(self, one: MeanResult) -> bool:
        """Whether there is something to say of a column."""
        return self._cuts(one) or self._told(one) or bool(self._passed_on(one) or list(self._beyond([one])))

    def _beyond(self, means: Iterable[Any]) -> Iterable[str]:
        """What the mean has to say that was not repaired."""
        for one in means:
            found = list(unrepaired([one]))
            yield from found
            if not found and self._cuts(one) and not _divisible(one):
                yield CUT.format(one.column)

    def _passed_on(self, one: MeanResult) -> list[Status]:
        """What the mean says of a column that a statistic has to say, too."""
        apart = self.same_files or self.design.of_units
        return [f for f in one.flags if f in PASSED_ON and not (apart and f is Status.ROWS_CORRELATED)]


def _far(means: Iterable[MeanResult], which: Callable[[MeanResult], bool]) -> dict[str, FarRows]:
    """By column the rows far out of some of the means."""
    return {one.column: one.far_rows for one in means if one.far_rows is not None and which(one)}


def _is_code(far: FarRows) -> bool:
    return bool(far.values) and far.values[0][1] >= CODE * far.share


CUT = "rows of {} lie far from all others, but no condition can exclude them"


def _divisible(one: Any) -> bool:
    """Whether a condition can leave rows out by their value: not those of lists and times."""
    return isinstance(one, MeanResult) and one.scale is None


def unrepaired(means: Iterable[Any]) -> Iterable[str]:
    """What the mean has to say that could not be repaired."""
    for one in means:
        if Status.FILES_DISAGREE in one.flags:
            yield f"files disagree about {one.column}, and the corrupt ones cannot be identified"
        elif Status.BREAKDOWN_POINT_EXCEEDED in one.flags:
            yield f"more of {one.column} is bad than can be separated from the rest"


def within(scan: Scan, cuts: Mapping[str, FarRows]) -> Scan:
    """The rows of a scan that lie within the cuts of these columns."""
    bounds = tuple((name, one.low, one.high) for name, one in cuts.items())
    return scan.instead(Within(bounds, as_filter(scan.where, scan.source)))


def bears(rows: MeanOptions, few: int | None = None) -> Callable[[int], float] | None:
    """How many rows far out, of a number, the blocks bear; None where their number is not given.

    Of units, which may have many, nobody knows beforehand (`borne`).
    """
    if rows.contamination is not None:
        share = 0 if rows.design.of_units else rows.contamination
        return lambda n: share * n if isinstance(share, float) else share
    if rows.design.sampled:
        return lambda n: 0
    n_blocks = rows.design.n if isinstance(rows.design.n, int) else few
    return None if n_blocks is None else lambda n: n_blocks // BORNE
