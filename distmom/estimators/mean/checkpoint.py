"""Runs that save their state: at the end, at regular intervals, and when they are interrupted."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from distmom.cluster import Executor, Progress, UnitOutcome, Work, run_units
from distmom.cluster.work import SkippedFile
from distmom.estimators.mean.blocks import fixed_by
from distmom.estimators.mean.fingerprint import Made
from distmom.estimators.mean.manifest import Ledger
from distmom.estimators.mean.state import SavedMean
from distmom.estimators.options import MeanOptions
from distmom.state import Checkpoint
from distmom.state.saved import Change

if TYPE_CHECKING:
    from distmom.estimators.mean.plan import MeanPlan
    from distmom.lake import ReadOptions, Source


class Keeper:
    """The state of one run: the files in its sums, and the files still to be read.

    DataError if the content of the state is not valid.
    """

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint = checkpoint
        found = checkpoint.saved
        self._mean = None if found is None else SavedMean.of(found, checkpoint.name)
        self._n_before = self._n_read = 0

    @property
    def ledger(self) -> Ledger:
        """The known files."""
        return Ledger() if self._mean is None else self._mean.ledger

    def begin(
        self,
        data: Any,
        source: Source,
        read: ReadOptions,
        options: MeanOptions,
        seed: int,
        shown_seed: int | str,
    ) -> ReadOptions:
        """Compare with the fingerprint of the state, before anything is read.

        ConfigError if it was made with other options, from other columns, or from another lake; or if there
        is no lake. DataError if files in it have changed or disappeared, and are not to be read again.
        Returns what to read, with times counted from the days of the state.
        """
        self._checkpoint.check_source(data, source, "use MeanAccumulator, or drop state")

        def made(read: ReadOptions) -> Made:
            return Made.of(options, source.reader(read), (source.address,), seed, shown_seed)  # type: ignore[attr-defined]

        then, ledger = self._mean, self.ledger
        now = made(read if then is None else replace(read, times=then.made.read.times))
        fixed = fixed_by(options)
        self._checkpoint.begin(
            now.fingerprint,
            source.files,
            _no_more(fixed) if fixed and ledger.main.n else None,
            known=ledger.known(fixed=bool(fixed)),
            design=then is not None and bool(fixed) != bool(fixed_by(then.made.options)),
        )
        if self._checkpoint.restarted:
            then, now = None, made(read)
        if then is None:
            then = self._mean = SavedMean(self._checkpoint.name, now, {}, Ledger())
        then.made = now
        return replace(read, times=now.read.times)

    def check(self, plan: MeanPlan) -> SavedMean:
        """The state from which to continue; ConfigError if the plan has other sums."""
        assert self._mean is not None
        self._mean.sums = plan.sums
        self._checkpoint.check(self._mean.made.fingerprint.with_sums(plan.sums))
        self._mean.check(plan)
        return self._mean

    def facts(self) -> dict[str, Any]:
        """The facts that results report about it."""
        return {
            "file": str(self._checkpoint.state.file),
            "n_files_before": self._n_before,
            "n_files_read": self._n_read,
            "restarted": self._checkpoint.restarted,
        }

    def run(
        self, plan: MeanPlan, work: Work, executor: Executor, progress: Progress | None
    ) -> tuple[Any, list[SkippedFile]]:
        """Read the remaining files, and save; returns the complete state and the skipped files."""
        saved = self.check(plan)
        merge, ledger = plan.reduction.merge, saved.ledger
        self._n_read = len(ledger.unread())
        self._n_before = len(plan.files) - self._n_read
        listed = {file.path: file for file in plan.files}
        with self._checkpoint.keeping(saved.content, fresh=bool(plan.skipped)) as note:

            def done(unit: object, outcome: UnitOutcome) -> None:
                ledger.leave(outcome.skipped, listed)
                note()

            for tree, units in ((ledger.main, plan.units), (ledger.late, plan.late)):
                if units:
                    run_units(
                        work,
                        units,
                        merge,
                        executor,
                        progress=progress,
                        merger=tree.merger,
                        on_outcome=done,
                        grows=plan.reduction.grouped,
                    )
        state = ledger.finish(merge)
        self._checkpoint.save(saved.content())
        return state, [SkippedFile(left.file.path, left.reason) for left in ledger.left.values()]


def _no_more(fixed: str) -> Change:
    """Why no file may be added if this option determines the blocks."""
    return Change(
        f"{fixed} makes blocks that depend on the number of rows",
        "to read everything again, or blocks=… of random rows, which does not depend on it",
    )
