"""The survey of groups: each has its own cuts and its own words, and files are left out of all of them.

What is true of the column need not be of a group. A rare group in another currency lies beyond all cuts, and
variants that lie in files of their own are whole files of other values. So the grouped means are asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from distmom.checks import names_of
from distmom.designs.design import BlockDesign
from distmom.errors import ConfigError, DataError, NoAnswerError
from distmom.estimators.facts import run_facts
from distmom.estimators.mean.question import MeanQuestion
from distmom.estimators.options import MeanOptions
from distmom.estimators.survey import BY_ROWS, CUT, ROUNDS, Surveyor, unrepaired
from distmom.estimators.surveyed import Survey
from distmom.inference.status import in_order
from distmom.lake.filters import as_filter
from distmom.lake.keys.keyvalues import Key, component_of
from distmom.lake.within import GroupBound, Within
from distmom.passes.opening import Names
from distmom.passes.scan import Scan
from distmom.report import MeanResult, Results
from distmom.report.far_rows import FarRows
from distmom.report.of_many import remarkable
from distmom.status import Status

Place = tuple[Key, str]
"""A group's key, and a column."""


@dataclass(frozen=True)
class GroupSurveys(Survey):
    """What is to be read of a scan, and what is said of each group.

    Attributes
    ----------
    groups : mapping of Key to Survey
    """

    groups: Mapping[Key, Survey] = field(default_factory=dict)

    def of(self, group: Any) -> Survey:
        """What is said of a group."""
        return self.groups.get(key_of(group or {}), Survey(self.scan))


@dataclass(frozen=True)
class GroupSurveyor(Surveyor):
    """Asks the grouped means of columns of a scan.

    Attributes
    ----------
    by : names
    said : dict
        What the grouped means of some columns of a scan (which is kept, so that its identity is) have said.
    """

    by: Names = None
    said: dict[tuple[int, Sequence[str], bool], tuple[Scan, Results]] = field(default_factory=dict)

    def survey(self, scan: Scan, columns: Sequence[str]) -> GroupSurveys:
        """What is bad in any of these columns, in each group."""
        if scan.source.one_pass:
            return GroupSurveys(scan)
        try:
            if not any(map(self.worth, self._remarkable(scan, columns))):
                return GroupSurveys(scan)
            return self._mended(scan, columns, self.means(scan, columns))
        except (ConfigError, DataError, NoAnswerError):  # the command itself has the words for it
            return GroupSurveys(scan)

    def suspect(self, scan: Scan, columns: Sequence[str]) -> list[str]:
        """Those columns for which there is something to say in some group."""
        if scan.source.one_pass:
            return []
        try:
            found = {one.column for one in self._remarkable(scan, columns) if self.worth(one)}
            return [name for name in columns if name in found]
        except (ConfigError, DataError, NoAnswerError):
            return []

    def _mended(self, scan: Scan, columns: Sequence[str], means: Sequence[MeanResult]) -> GroupSurveys:
        """The scan without what is bad, and for each group what that was."""
        now, files, fewer = scan, list[str](), set[Place]()
        far: dict[Place, FarRows] = {}
        for _ in range(ROUNDS):
            bad = self._bad_files([one for one in means if Status.FILES_DISAGREE in one.flags])
            cuts = {} if bad else {place_of(one): one.far_rows for one in means if self._cuts(one)}
            if not bad and not cuts:
                break
            before, now = means, now.without(bad) if bad else self._within(now, cuts)
            means = self.means(now, columns)
            if bad:
                files = [*files, *bad]
                left = {place_of(one): one.n_rows for one in means}
                fewer |= {key for one in before if left.get(key := place_of(one)) != one.n_rows}
            far |= {
                place: replace(one, action="screened out") for place, one in cuts.items() if one is not None
            }
        if self.design.by_file:
            now, files = self._within(scan, far) if far else scan, []
        beyond = means
        if self.design.of_units and any(unrepaired(means)):
            still = [m for m in means if Status.FILES_DISAGREE in m.flags and not self.design.by_file]
            beyond = [*self.means(now, columns, self.design), *still]
        wrong = {place_of(one): list(unrepaired([one])) for one in beyond}
        return GroupSurveys(now, groups=self._told_of(now, means, far, tuple(sorted(files)), fewer, wrong))

    def _told_of(
        self,
        scan: Scan,
        means: Sequence[MeanResult],
        far: dict[Place, FarRows],
        files: tuple[str, ...],
        fewer: set[Place],
        wrong: dict[Place, list[str]],
    ) -> dict[Key, Survey]:
        """What is said of each group."""
        groups: dict[Key, list[MeanResult]] = {}
        for one in means:
            groups.setdefault(place_of(one)[0], []).append(one)
        found = {}
        for key, mine in groups.items():
            told = dict[str, FarRows]()
            for one in mine:
                rows = far.get((key, one.column))
                if rows is None and one.far_rows is not None and self._told(one):
                    rows = replace(one.far_rows, action="told")
                if rows is not None:
                    column = one.column if len(mine) > 1 else rows.column
                    told[one.column] = replace(rows, estimate_with=None, of_sample=False, column=column)
            beyond = [words for one in mine for words in wrong.get((key, one.column), ())]
            beyond += [CUT.format(one.column) for one in mine if self._cuts(one)]
            found[key] = Survey(
                scan,
                files if any((key, one.column) in fewer for one in mine) else (),
                tuple(told.values()),
                tuple(beyond),
                in_order(flag for one in mine for flag in self._passed_on(one)),
                tuple(one.column for one in mine if Status.ROWS_CORRELATED in self._passed_on(one)),
                tuple(one.column for one in mine),
                tuple(mine),
            )
        return found

    def _passed_on(self, one: MeanResult) -> list[Status]:
        """What the mean says of a group; experiments judge for themselves whether few rows carry it."""
        told = super()._passed_on(one)
        return [f for f in told if not (self.experiment and f is Status.DOMINATED_BY_FEW_ROWS)]

    def _within(self, scan: Scan, cuts: Mapping[Place, FarRows | None]) -> Scan:
        """The rows of a scan that lie within the cuts of their group."""
        bounds: list[GroupBound] = []
        for (key, column), far in cuts.items():
            if far is not None:
                bounds.append((key, column, far.low, far.high))
        by, also = names_of("by", self.by), as_filter(scan.where, scan.source)
        return scan.instead(Within((), also, by, tuple(bounds)))

    def _question(self, scan: Scan, columns: Sequence[str], design: BlockDesign) -> MeanQuestion:
        options = MeanOptions.of(scan, design, passes=2)  # small groups have few rows in the sample
        few = self.experiment  # its variants
        return MeanQuestion(scan, list(columns), self.by, options, rng=self.seed, few_groups=few)

    def means(self, scan: Scan, columns: Sequence[str], design: BlockDesign = BY_ROWS) -> list[MeanResult]:
        """The robust mean of each in each group; NoAnswerError if none has one."""
        return list(_means_of(self.found(scan, columns, design), columns))

    def _remarkable(self, scan: Scan, columns: Sequence[str]) -> Iterator[MeanResult]:
        """Those with flags or rows far out, one after the other: there may be very many groups."""
        return _means_of(remarkable(self.found(scan, columns)), columns)

    def found(self, scan: Scan, columns: Sequence[str], design: BlockDesign = BY_ROWS) -> Results:
        """The same, perhaps with those of other columns: results which are made when they are asked for."""
        by_rows = design is BY_ROWS
        for (place, known, same), (_, found) in self.said.items():
            if place == id(scan) and same == by_rows and set(columns) <= set(known):
                return found
        plan = self._question(scan, columns, design).plan(self.executor, self.progress)
        run = run_facts(0.0, self.seed, self.executor.threads)
        found = Results.of(plan.run(self.executor, self.progress, run))
        self.said[id(scan), tuple(columns), by_rows] = scan, found
        return found


def _means_of(results: Iterable[Any], columns: Sequence[str]) -> Iterator[MeanResult]:
    """Those that are the mean of one of these columns."""
    return (one for one in results if isinstance(one, MeanResult) and one.column in columns)


def place_of(one: MeanResult) -> Place:
    """The group and the column of a mean."""
    return key_of(one.group or {}), one.column


def key_of(group: Mapping[str, Any]) -> Key:
    """The key of a group by its values."""
    return tuple(map(component_of, group.values()))
