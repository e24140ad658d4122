"""Runs that save their state: at the end, every so many seconds, and whatever ends them."""

from __future__ import annotations

import logging
import os
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Any

from distmom.checks import check_choice
from distmom.cluster import Executor, Progress, UnitOutcome, Work, run_units
from distmom.cluster.executors.machine import memory_bytes
from distmom.cluster.memory import parse_bytes
from distmom.cluster.work import SkippedFile
from distmom.errors import ConfigError, DataError, DistmomError
from distmom.estimators.mean.blocks import fixed_by
from distmom.estimators.mean.fingerprint import Made, hard_differences, listed, soft_differences
from distmom.estimators.mean.manifest import Change, Ledger
from distmom.estimators.mean.state import SavedMean, from_container, to_container
from distmom.estimators.options import ON_CHANGE, MeanOptions
from distmom.lake import Lake
from distmom.lake.files.listing import would_list
from distmom.lake.saved.statefile import check_state_path, read_state, write_state
from distmom.numerics.random.philox import resolve_seed

if TYPE_CHECKING:
    from distmom.estimators.mean.plan import MeanPlan
    from distmom.lake import FileRef, ReadOptions, Source

logger = logging.getLogger("distmom")

EVERY, REST = 30.0, 20.0
"""Seconds between two checkpoints, but at least so many times as long as the last one took."""


class Keeper:
    """The state of one run: what it goes on from, and where it is saved.

    Parameters
    ----------
    path : str or path
    on_change : {"error", "restart"}
        What to do where the lake has changed in a way that the state cannot follow.
    memory_limit : int or str, optional
        Bytes that this process may use.

    Raises
    ------
    ConfigError
        If no state can be written there.
    DataError
        If there is a state that is damaged, or of another kind.
    """

    def __init__(
        self, path: str | os.PathLike[str], on_change: str, memory_limit: int | str | None = None
    ) -> None:
        check_choice("on_change", on_change, ON_CHANGE)
        self.path = check_state_path(path)
        self.on_change = on_change
        self.saved: SavedMean | None = None
        if self.path.exists():
            limit = parse_bytes(memory_limit) or memory_bytes()
            self.saved = from_container(read_state(self.path, limit // 3), self.name)
        self.ledger = Ledger() if self.saved is None else self.saved.ledger
        self.restarted: str | None = None
        self._made: Made | None = None
        self._sums: dict[str, Any] = {}
        self._listed: dict[str, FileRef] = {}
        self._due = monotonic() + EVERY
        self._fresh = False  # whether there is anything that is not saved
        self._n_before = self._n_read = 0

    @property
    def name(self) -> str:
        """How messages call the state."""
        return f"state {str(self.path)!r}"

    def seed(self, rng: Any) -> tuple[int, int | str]:
        """The seed: that of the state where none is given."""
        if rng is None and self.saved is not None:
            return self.saved.made.seed, self.saved.made.shown_seed
        return resolve_seed(rng)

    def begin(
        self,
        data: Any,
        source: Source,
        read: ReadOptions,
        options: MeanOptions,
        seed: int,
        shown_seed: int | str,
    ) -> tuple[Ledger, ReadOptions]:
        """Compare with what the state was made of, before anything is read.

        Returns
        -------
        ledger : Ledger
            What the run goes on from.
        read : ReadOptions
            What to read, times being counted from the days of the state.

        Raises
        ------
        ConfigError
            If it was made with other options, of other columns, or of another lake; or if there is no lake.
        DataError
            If files that it holds have changed or are gone, and ``on_change`` is ``"error"``.
        """
        if not isinstance(source, Lake):
            raise ConfigError(
                "state: data in memory, streams and frames have no files by which old rows could be told "
                "from new ones; use MeanAccumulator, or drop state"
            )
        given = read if self.saved is None else replace(read, times=self.saved.made.read.times)
        made = Made.of(options, source.reader(given), (source.address,), seed, shown_seed)
        place = os.path.relpath(os.path.abspath(self.path), source.root)  # noqa: PTH100 (links are kept)
        among = not source.prefix and any(file.path == place for file in source.files)
        if would_list(data, self.path) or among:
            raise ConfigError(
                f"{self.name} would lie among the files of the data and be read as one; put it elsewhere, or "
                "begin its name with '_' or '.'"
            )
        if self.saved is not None:
            then = self.saved.made
            differences = hard_differences(then, made)
            if differences or (fixed_by(then.options) is None) != (fixed_by(made.options) is None):
                self._refuse(differences + soft_differences(then.options, made.options))
            change = self.ledger.change(source.files, fixed_by(made.options))
            if change is not None:
                self._restart(change)
                made = Made.of(options, source.reader(read), (source.address,), seed, shown_seed)
        self._made = made
        return self.ledger, replace(read, times=made.read.times)

    def _refuse(self, differences: list[str]) -> None:
        raise ConfigError(
            f"{self.name} was made with {listed(differences)}; use the same, or name another state"
        )

    def _restart(self, change: Change) -> None:
        if self.on_change != "restart":
            raise DataError(
                f"{self.name}: {change.text}; use State(path, on_change='restart') {change.remedy}"
            )
        logger.warning("%s: %s; everything is read again", self.name, change.text)
        self.restarted = change.text
        self.saved, self.ledger = None, Ledger()

    def check(self, plan: MeanPlan) -> None:
        """Compare the description of the plan's sums with that of the state.

        Raises
        ------
        ConfigError
            If they differ.
        """
        self._sums = plan.sums
        if self.saved is None:
            return
        if self.saved.sums == self._sums:
            self.saved.check(plan, self.name)
            return
        assert self._made is not None
        differences = soft_differences(self.saved.made.options, self._made.options)
        if not differences:
            raise ConfigError(
                f"{self.name} was made by another version of distmom, whose sums cannot be continued; "
                "name another state"
            )
        self._refuse(differences)

    def facts(self) -> dict[str, Any]:
        """What results say of it."""
        return {
            "file": str(self.path),
            "n_files_before": self._n_before,
            "n_files_read": self._n_read,
            "restarted": self.restarted,
        }

    def run(
        self, plan: MeanPlan, work: Work, executor: Executor, progress: Progress | None
    ) -> tuple[Any, list[SkippedFile]]:
        """Read what is to be read, and save; the state of everything, and the files left out."""
        self.check(plan)
        merge, ledger = plan.reduction.merge, self.ledger
        self._n_read = len(ledger.unread())
        self._n_before = len(plan.files) - self._n_read
        self._listed = {file.path: file for file in plan.files}
        self._fresh = bool(plan.skipped)
        try:
            for tree, units in ((ledger.main, plan.units), (ledger.late, plan.late)):
                if units:
                    run_units(
                        work,
                        units,
                        merge,
                        executor,
                        progress=progress,
                        merger=tree.merger,
                        on_outcome=self._note,
                        grows=plan.reduction.grouped,
                    )
        except BaseException:
            self._save_what_there_is()
            raise
        state = ledger.finish(merge)
        self.save()
        return state, [SkippedFile(left.file.path, left.reason) for left in ledger.left.values()]

    def _note(self, unit: object, outcome: UnitOutcome) -> None:
        """Called for each unit, or batch of units, that is done."""
        self.ledger.leave(outcome.skipped, self._listed)
        self._fresh = True
        if monotonic() >= self._due:
            self.save()

    def save(self) -> None:
        """Write the state as it is now."""
        assert self._made is not None
        started = monotonic()
        write_state(self.path, to_container(SavedMean(self._made, self._sums, self.ledger)))
        took = monotonic() - started
        self._due = monotonic() + max(EVERY, REST * took)
        self._fresh = False

    def _save_what_there_is(self) -> None:
        """Save on the way out, where the error that ends the run matters more."""
        if not self._fresh:
            return
        try:
            self.save()
        except DistmomError as error:
            logger.warning("%s", error)
        else:
            logger.info("%s: what was read so far is saved; the same command goes on from there", self.name)


def open_keeper(
    state: str | os.PathLike[str] | None, on_change: str, memory_limit: int | str | None = None
) -> Keeper | None:
    """The keeper of a run that has a state; see `Keeper`."""
    if state is not None:
        return Keeper(state, on_change, memory_limit)
    check_choice("on_change", on_change, ON_CHANGE)
    if on_change != "error":
        raise ConfigError("on_change: says what becomes of a state; give state too, or drop it")
    return None
