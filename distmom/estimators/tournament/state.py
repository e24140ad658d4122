"""Completed rounds of a tournament in a file, from which an interrupted run resumes."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from distmom.solvers.tournament import Pair
from distmom.state import Checkpoint, Fingerprint
from distmom.state.checkpoint import Content
from distmom.state.saved import Change

if TYPE_CHECKING:
    from distmom.lake import Source

KIND = "tournament"

SUMS = 3
"""Version of what the rounds keep."""

SAME_ROWS = Change("all rounds read the same rows", "to play all rounds again")

Arrays = Mapping[str, NDArray[Any]]


class RoundKeeper:
    """Keeps the arrays of each round under its name; without a checkpoint only passes them on.

    ConfigError if there is a checkpoint but the data is no lake, so that changes could not be noticed, or if
    the state is of another tournament; DataError if the lake has changed since.
    """

    def __init__(
        self, checkpoint: Checkpoint | None, data: Any, source: Source, fingerprint: Fingerprint
    ) -> None:
        self._checkpoint, self._source = checkpoint, source
        self._rounds: dict[str, dict[str, NDArray[Any]]] = {}
        self._resumed: set[str] = set()
        self._prefix = ""
        if checkpoint is None:
            return
        checkpoint.check_source(data, source, "write the data to Parquet, or drop state")
        checkpoint.begin(fingerprint, source.files, SAME_ROWS)
        for name, array in (checkpoint.saved.arrays if checkpoint.saved else {}).items():
            number, _, key = name.partition(".")
            self._rounds.setdefault(number, {})[key] = np.asarray(array)

    @property
    def begun(self) -> bool:
        """Whether there are rounds already."""
        return bool(self._rounds)

    def named(self, prefix: str) -> RoundKeeper:
        """The same rounds, of which those with names that begin so are asked for."""
        new = copy.copy(self)
        new._prefix = prefix
        return new

    def round(self, name: str, play: Callable[[], Arrays]) -> Arrays:
        """The arrays of a round, from the file, or played now and saved."""
        name = self._prefix + name
        if name in self._rounds:
            self._resumed.add(name)
            return self._rounds[name]
        found = self._rounds[name] = {key: np.asarray(array) for key, array in play().items()}
        if self._checkpoint is not None:
            arrays = {f"{n}.{key}": a for n, mine in self._rounds.items() for key, a in mine.items()}
            self._checkpoint.save(Content(self._source.files, {}, arrays))
        return found

    def facts(self) -> dict[str, Any]:
        """What is reported of the file; nothing without one."""
        if self._checkpoint is None:
            return {}
        file = str(self._checkpoint.state.file)
        return {
            "rounds": {"file": file, "n_rounds": len(self._rounds), "n_rounds_before": len(self._resumed)}
        }


def round_of(pairs: Sequence[Pair]) -> str:
    """Name of the round that asks for just these pairs."""
    return f"pairs {hashlib.blake2b(np.array(pairs, np.int32).tobytes(), digest_size=8).hexdigest()}"


def numbered(pairs: Sequence[Pair]) -> tuple[list[int], NDArray[np.int32]]:
    """The candidates of some pairs, and the places of each pair's among these."""
    chosen, places = np.unique(np.array(pairs, np.int32).reshape(-1, 2), return_inverse=True)
    return chosen.tolist(), places.reshape(-1, 2).astype(np.int32)
