"""The rounds of a tournament that are done, in a file: a run that was stopped goes on from there."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from distmom.errors import ConfigError, DataError
from distmom.estimators.tournament.options import TournamentOptions
from distmom.lake import Lake, ReadOptions
from distmom.lake.saved.container import Container
from distmom.lake.saved.statefile import check_state_path, read_state, write_state
from distmom.numerics.random.philox import DRAW_VERSION

if TYPE_CHECKING:
    from distmom.lake import Source

KIND = "tournament"

SUMS = 2
"""Version of what the rounds keep."""

Arrays = Mapping[str, NDArray[Any]]


class RoundKeeper:
    """Keeps the arrays of each round under its name; without a path only hands them on.

    Raises
    ------
    ConfigError
        No state can be written there; or the data is no lake, so that nobody could tell whether it changed.
    DataError
        There is a state that is damaged, of another kind, or of another tournament or lake.
    """

    def __init__(self, path: str | os.PathLike[str] | None, source: Source, made: dict[str, Any]) -> None:
        self.path = None if path is None else check_state_path(path)
        self._rounds: dict[str, dict[str, NDArray[Any]]] = {}
        self.n_resumed = 0
        if self.path is None:
            return
        if not isinstance(source, Lake):
            raise ConfigError("state: is kept of files alone; write the data to Parquet, or drop state")
        self._made = made
        if self.path.exists():
            self._load(read_state(self.path))

    def _load(self, saved: Container) -> None:
        if saved.kind != KIND:
            raise DataError(
                f"state {str(self.path)!r} holds a {saved.kind}, no tournament; name another file"
            )
        then = saved.facts["made"]
        different = [key for key in self._made if then.get(key) != self._made[key]]
        if different:
            raise DataError(
                f"state {str(self.path)!r} is of a tournament with other {', '.join(different)}; name "
                "another file, or delete it to start afresh"
            )
        for name, array in saved.arrays.items():
            number, _, key = name.partition(".")
            self._rounds.setdefault(number, {})[key] = np.asarray(array)

    def round(self, name: str, play: Callable[[], Arrays]) -> Arrays:
        """The arrays of a round, from the file or else played now and saved."""
        if name in self._rounds:
            self.n_resumed += 1
            return self._rounds[name]
        found = {key: np.asarray(array) for key, array in play().items()}
        self._rounds[name] = found
        if self.path is not None:
            arrays = {f"{n}.{key}": a for n, mine in self._rounds.items() for key, a in mine.items()}
            write_state(self.path, Container(KIND, {"made": self._made}, arrays))
        return found

    def facts(self) -> dict[str, Any]:
        """What to tell of the file."""
        return {
            "file": str(self.path),
            "n_rounds": len(self._rounds),
            "n_rounds_before": self.n_resumed,
        }


def made(
    source: Source,
    read: ReadOptions,
    options: TournamentOptions,
    candidates: list[list[str]],
    seed: int | str,
) -> dict[str, Any]:
    """What the sums of the rounds depend on, in words that can be compared; files by a digest."""
    files = hashlib.blake2b(digest_size=16)
    for file in source.files:
        files.update(f"{file.path}\0{file.size}\0{file.mtime_ns}\n".encode("utf-8", "surrogateescape"))
    where = read.where
    blocks = [options.n_parts, options.n_blocks, options.contamination, options.confidence_level]
    drawn = [options.scheme, options.block_size, options.pairs, options.n_pairs, options.pair_budget]
    return {
        "files": files.hexdigest(),
        "seed": seed,
        "where": None if where is None else str(where.identity),
        "blocks": [*blocks, options.chunk_rows],
        "scheme": drawn,
        "block_by": list(options.block_by) if isinstance(options.block_by, tuple) else options.block_by,
        "loss": [options.loss_name, options.loss_parameter, options.measured],
        "beta_r": options.beta_r,
        "candidates": candidates,
        "target": read.columns[0],
        "missing": options.missing,
        "draws": DRAW_VERSION,
        "sums": SUMS,
    }
