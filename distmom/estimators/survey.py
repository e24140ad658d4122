"""One survey for every command: bad files and bad shares of rows, found before a statistic is computed.

Blocks bear bad rows and files up to a number. Beyond it what is bad must be left out before the blocks, and
the mean knows what that is: files by its cells of whole files, rows by its large row sample. So its question
is asked first. Where it finds nothing, nothing changes. Where files disagree, each file is looked at alone,
and the accused ones that stand out are left out; where a share of the rows stands apart, so is that share;
and the mean is asked again of what is left, until it has nothing to say, or nothing that can be repaired.
Where files are the blocks they bear bad ones themselves, and rows alone are left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from distmom.designs.blocks import RandomBlocks
from distmom.designs.design import BlockDesign
from distmom.errors import ConfigError, DataError, NoAnswerError
from distmom.estimators.describe.question import DescribeQuestion
from distmom.estimators.facts import run_facts
from distmom.estimators.mean.far_rows import error_of, errors_allowed, stands
from distmom.estimators.mean.question import MeanQuestion
from distmom.estimators.options import MeanOptions
from distmom.inference.status import in_order
from distmom.lake.filters import as_filter
from distmom.lake.within import Within
from distmom.passes.scan import Scan
from distmom.report import MeanResult, Results, VectorResult
from distmom.report.estimate import EstimateResult
from distmom.report.far_rows import FarRows, column_of
from distmom.status import Status

if TYPE_CHECKING:
    from distmom.cluster import Executor, Progress

ROUNDS = 4
"""What is bad may hide what is less so: the mean is asked at most so many times."""

HARMLESS = ("missing", "no values")
"""Rows that are missing are not among those that make an answer."""

FEW, SOME = 10, 40
"""So many rows far out are borne by the blocks of any statistic, where they do not move the mean: between
the two, one in a thousand."""

BORNE = 4
"""One of so many given blocks may hold a row far out without moving their median far."""

CODE = 0.5
"""Of the rows that stand apart so many have one value where that value is a code."""

BY_ROWS = RandomBlocks()

Mean = MeanResult | VectorResult

PASS = "one pass of the mean over the same columns comes first; where it finds bad files or rows, more follow"
"""What plans say of it."""


NOT_RELIABLE = "the result is beyond capacity"
NO_VERDICT = {
    "lift": math.nan,
    "lift_interval": None,
    "lift_reason": NOT_RELIABLE,
    "p_value": None,
    "p_adjusted": None,
    "p_reason": NOT_RELIABLE,
}
"""What results have no more that cannot be relied upon."""


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
    """

    scan: Scan
    files: tuple[str, ...] = ()
    far: tuple[FarRows, ...] = ()
    beyond: tuple[str, ...] = ()

    @property
    def nothing(self) -> bool:
        """Whether there is nothing to say."""
        return not (self.files or self.far or self.beyond)

    def flags(self) -> list[Status]:
        """The words for it."""
        actions = {far.action for far in self.far}
        return [
            *[Status.BEYOND_CAPACITY] * bool(self.beyond),
            *[Status.SHARE_SET_ASIDE] * ("set aside" in actions),
            *[Status.FILES_DISAGREE] * bool(self.files),
            *[Status.SHARE_FAR_OUT] * ("told" in actions),
        ]


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
    lists : bool
        Columns hold lists: one vector.
    """

    seed: int
    executor: Executor
    progress: Progress | None
    bears: Callable[[int], float] | None = None
    experiment: bool = False
    design: BlockDesign = BY_ROWS
    lists: bool = False

    def survey(self, scan: Scan, columns: Sequence[str], means: Mapping[str, Mean] | None = None) -> Survey:
        """What is bad in any of these columns, whose `means` may be known."""
        means = self.means(scan, columns) if means is None else means
        mine = [means[name] for name in means if self.lists or name in columns]
        if not any(self._worth(one) for one in mine):
            return Survey(scan)
        try:
            return self._repaired(scan, columns, mine)
        except (ConfigError, DataError, NoAnswerError):  # the command itself has the words for it
            return Survey(scan)

    def check(self, scan: Scan, columns: Sequence[str]) -> None:
        """ResourceError if there is not the memory for it; no row is read."""
        with suppress(ConfigError, DataError, NoAnswerError):
            self._question(scan, columns, BY_ROWS).plan(self.executor, None)

    def means(self, scan: Scan, columns: Sequence[str]) -> dict[str, Mean]:
        """The mean of each column; none of rows that can be read only once."""
        if scan.source.one_pass:
            return {}
        try:
            return {one.column: one for one in self._means(scan, columns)}
        except (ConfigError, DataError, NoAnswerError):
            return {}

    def suspect(self, means: Mapping[str, Mean], columns: Sequence[str]) -> list[str]:
        """Those columns for whose means there is something to say."""
        bad = [name for name, one in means.items() if self._worth(one)]
        return list(columns) if self.lists and bad else bad

    def _repaired(self, scan: Scan, columns: Sequence[str], means: Sequence[Mean]) -> Survey:
        """The scan without what is bad, and what that was."""
        now, files = scan, list[str]()
        far: dict[str, FarRows] = {}
        for _ in range(ROUNDS):
            bad = self._bad_files(now, [one for one in means if Status.FILES_DISAGREE in one.flags])
            cuts = {} if bad else _far([one for one in means if _divisible(one)], self._cuts)
            if not bad and not cuts:
                break
            if bad:
                files, now = [*files, *bad], now.without(bad)
            else:
                now = _within(now, cuts)
                far |= {name: replace(one, action="set aside") for name, one in cuts.items()}
            means = self._means(now, columns)
        told = {name: one for name, one in _far(means, self._told).items() if name not in far}
        told = {name: replace(one, action="told") for name, one in told.items()}
        every = [replace(one, estimate_with=None, of_sample=False) for one in (*far.values(), *told.values())]
        if len(columns) > 1:
            every = [replace(one, column=c) for one, c in zip(every, (*far, *told), strict=True)]
        if self.design.by_file:
            now, files = _within(scan, far) if far else scan, []
        beyond = tuple(self._beyond(means))
        if beyond and self.design.of_units:  # they may bear what rows do not; but only files bear bad files
            still = [m for m in means if Status.FILES_DISAGREE in m.flags and not self.design.by_file]
            beyond = tuple(self._beyond([*still, *self._means(now, columns, self.design)]))
        return Survey(now, tuple(sorted(files)), tuple(every), beyond)

    def _question(self, scan: Scan, columns: Sequence[str], design: BlockDesign) -> MeanQuestion:
        options = MeanOptions.of(scan, design, joint=self.lists, passes=1)
        return MeanQuestion(scan, list(columns), None, options, rng=self.seed)

    def _means(self, scan: Scan, columns: Sequence[str], design: BlockDesign = BY_ROWS) -> list[Mean]:
        plan = self._question(scan, columns, design).plan(self.executor, self.progress)
        found = plan.run(self.executor, self.progress, run_facts(0.0, self.seed, self.executor.threads))
        return [one for one in Results.of(found) if isinstance(one, MeanResult | VectorResult)]

    def _bad_files(self, scan: Scan, means: Sequence[Mean]) -> tuple[str, ...]:
        """Those accused files that stand out alone, in the same column; lists are not looked into."""
        accused = {m.column: set(m.accused_files) for m in means if m.accused_files and not self.lists}
        if not accused:
            return ()
        options = MeanOptions.of(replace(scan, nan="omit"), RandomBlocks())
        question = DescribeQuestion(scan, list(accused), None, options, rng=self.seed)
        plan = question.plan(self.executor, self.progress)
        named = plan.run(self.executor, self.progress, run_facts(0.0, self.seed, 1)).named
        return tuple(
            one.name
            for one in named
            if one.kind == "file"
            and any(r.what not in HARMLESS and one.name in accused.get(r.column, ()) for r in one.reasons)
        )

    def _cuts(self, one: Mean) -> bool:
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

    def _told(self, one: Mean) -> bool:
        """Whether rows that stay in are worth a word."""
        far = one.far_rows
        return far is not None and (far.action == "told" or (self.experiment and far.action == "set aside"))

    def _worth(self, one: Mean) -> bool:
        """Whether there is something to say of a column."""
        return self._cuts(one) or self._told(one) or bool(list(self._beyond([one])))

    def _beyond(self, means: Iterable[Mean]) -> Iterable[str]:
        """What the mean has to say that could not be repaired."""
        for one in means:
            if Status.FILES_DISAGREE in one.flags:
                yield f"files disagree about {one.column}, and which of them are bad is not clear"
            elif Status.BEYOND_CAPACITY in one.flags:
                yield f"more of {one.column} is bad than can be told from the rest"
            elif self._cuts(one) and not _divisible(one):
                yield f"rows of {one.column} lie far from all others, and no condition leaves them out"


def _divisible(one: Mean) -> bool:
    """Whether a condition can leave rows out by their value: not those of lists and times."""
    return isinstance(one, MeanResult) and one.scale is None


def _far(means: Iterable[Mean], which: Callable[[Mean], bool]) -> dict[str, FarRows]:
    """By column the rows far out of some of the means."""
    return {one.column: one.far_rows for one in means if one.far_rows is not None and which(one)}


def _is_code(far: FarRows) -> bool:
    return bool(far.values) and far.values[0][1] >= CODE * far.share


def _within(scan: Scan, cuts: dict[str, FarRows]) -> Scan:
    """The rows of a scan that lie within the cuts of these columns."""
    bounds = tuple((name, one.low, one.high) for name, one in cuts.items())
    return scan.instead(Within(bounds, as_filter(scan.where, scan.source)))


def marked(result: Any, *found: Survey) -> Any:
    """The result with what was left out of its data, or should have been."""
    found = tuple(one for one in found if not one.nothing)
    if not found:
        return without_verdict(result)
    flags = {*result.flags, *(flag for one in found for flag in one.flags())}
    files = tuple(dict.fromkeys(file for one in found for file in one.files))
    far = [far for one in found for far in one.far]
    notes = []
    if files:
        notes.append(f"{len(files)} files that hold other values than the rest were left out")
    notes += [words for more in far[1:] for words in more.words(result.level, column_of(result))]
    for words in dict.fromkeys(words for one in found for words in one.beyond):
        notes.append(f"{words}: do not rely on this result")
    changes: dict[str, Any] = {
        "flags": in_order(flags),
        "status": Status.OK,
        "notes": (*notes, *result.notes),
    }
    if isinstance(result, EstimateResult):
        changes |= {"far_rows": far[0] if far else result.far_rows}
        changes |= {"accused_files": files or result.accused_files}
    return without_verdict(replace(result, **changes))


def borne(first: Any, again: Any, *found: Survey) -> Any:
    """The estimate of all rows, if its blocks bear what was left out of another; None if they do not."""
    allowed = errors_allowed(first.flags) * error_of(again.block_estimates)
    agree = bool((np.abs(np.ravel(first.estimate - again.estimate)) <= allowed).all())
    if any(one.beyond for one in found) or not stands(first.flags, agree=agree):
        return None
    far = [replace(far, action="borne") for one in found for far in one.far]
    return replace(first, far_rows=far[0]) if far else first


def without_verdict(result: Any) -> Any:
    """The result; one that is not to be relied upon has neither p-value nor lift."""
    mine = {name: value for name, value in NO_VERDICT.items() if hasattr(result, name)}
    return replace(result, **mine) if mine and Status.BEYOND_CAPACITY in result.flags else result


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
