"""The rounds of a tournament that are done, in a file: a run that was stopped goes on from there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from distmom.estimators.tournament.options import TournamentOptions
from distmom.state import Checkpoint, Fingerprint, shown, shown_filter
from distmom.state.checkpoint import Content
from distmom.state.saved import Change

if TYPE_CHECKING:
    from distmom.lake import ReadOptions, Source

KIND = "tournament"

APART = ("loss", "distance", "design", "pairs", "missing", "on_bad_file")
"""Options that are in the question, have other names here, or do not change the sums of the rounds."""

SUMS = 2
"""Version of what the rounds keep."""

SAME_ROWS = Change("all rounds read the same rows", "to play all rounds again")

Arrays = Mapping[str, NDArray[Any]]


class RoundKeeper:
    """Keeps the arrays of each round under its name; without a checkpoint only hands them on."""

    def __init__(self, checkpoint: Checkpoint | None = None) -> None:
        self._checkpoint = checkpoint
        self._source: Source | None = None
        self._rounds: dict[str, dict[str, NDArray[Any]]] = {}
        self._n_resumed = 0

    def begin(self, data: Any, source: Source, fingerprint: Fingerprint) -> None:
        """Compare with what the state was made of, and take its rounds.

        Raises
        ------
        ConfigError
            The data is no lake, so that nobody could tell whether it changed; or the state is of another
            tournament.
        DataError
            The lake has changed since.
        """
        if self._checkpoint is None:
            return
        self._source = source
        self._checkpoint.check_source(data, source, "write the data to Parquet, or drop state")
        self._checkpoint.begin(fingerprint, source.files, SAME_ROWS)
        if self._checkpoint.saved is not None:
            for name, array in self._checkpoint.saved.arrays.items():
                number, _, key = name.partition(".")
                self._rounds.setdefault(number, {})[key] = np.asarray(array)

    def round(self, name: str, play: Callable[[], Arrays]) -> Arrays:
        """The arrays of a round, from the file or else played now and saved."""
        if name in self._rounds:
            self._n_resumed += 1
            return self._rounds[name]
        found = self._rounds[name] = {key: np.asarray(array) for key, array in play().items()}
        if self._checkpoint is not None and self._source is not None:
            arrays = {f"{n}.{key}": a for n, mine in self._rounds.items() for key, a in mine.items()}
            self._checkpoint.save(Content(self._source.files, {}, arrays))
        return found

    def facts(self) -> dict[str, Any]:
        """What to tell of the file; nothing without one."""
        if self._checkpoint is None:
            return {}
        file = str(self._checkpoint.state.file)
        return {"rounds": {"file": file, "n_rounds": len(self._rounds), "n_rounds_before": self._n_resumed}}


def fingerprint(
    read: ReadOptions,
    options: TournamentOptions,
    candidates: list[list[str]],
    seed: int,
    shown_seed: int | str,
) -> Fingerprint:
    """What the sums of the rounds depend on beside the files."""
    question = {
        "target": read.columns[0],
        "where": shown_filter(read.where),
        "missing": options.missing,
    }
    names = [f.name for f in fields(options) if f.name not in APART]
    design = {"loss": options.loss_name, "distance": options.measured, "version of the sums": SUMS}
    design |= {name: getattr(options, name) for name in names}
    design |= {"blocks": repr(options.design), "pairs": repr(options.pairs)}
    design["candidates"] = shown(candidates, [name for name, *_ in candidates])
    return Fingerprint.of(question, design, seed, shown_seed)
