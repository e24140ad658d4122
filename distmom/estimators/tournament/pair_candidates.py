"""Candidates whose losses are of pairs of rows: matrices, scores, cells, kernels."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distmom.errors import ConfigError, DataError
from distmom.estimators.tournament.candidates import (
    MODEL_FILE,
    computed,
    load_model,
    named_candidates,
    places_of,
)
from distmom.estimators.tournament.options import TournamentOptions, rankings
from distmom.numerics.kernels.kernel import Kernel
from distmom.numerics.kernels.risk import Clustering, MetricLoss, Ranking
from distmom.passes.opening import Names, names_of
from distmom.reductions.losses.pair_losses import COMPUTED, PairCandidate

MATRIX_FILE = ".npy"
NEAR = 2.0
"""Squared distance between near and far unless another one is given."""


@dataclass(frozen=True)
class PairField:
    """The candidates, and the columns to read for them.

    Attributes
    ----------
    candidates : tuple of PairCandidate
    columns : tuple of str
    """

    candidates: tuple[PairCandidate, ...]
    columns: tuple[str, ...]

    def described(self) -> list[list[str]]:
        """What tells each candidate from others, in words that can be compared."""
        return [
            [
                c.name,
                hashlib.blake2b(repr(c.kernel).encode(), digest_size=16).hexdigest(),
                *(self.columns[i] if i != COMPUTED else "computed" for i in c.places),
                *((self.columns[i] for i in c.scorer.places) if c.scorer is not None else ()),
            ]
            for c in self.candidates
        ]


def find_pair_candidates(
    candidates: Any, target: Any, features: Names, names: Sequence[str], options: TournamentOptions
) -> PairField:
    """The candidates by name, against the names of the columns there are.

    Raises
    ------
    ConfigError
        There is none, two have one name, one does not go with the loss, or target or features are missing.
    DataError
        A file of a matrix or model cannot be read.
    """
    given = named_candidates(_with_names(candidates))
    if not given:
        raise ConfigError("candidates: give at least one")
    asked = names_of("features", features)
    taking = _Taking(target, asked, names, options)
    found = tuple(taking.candidate(name, what) for name, what in given.items())
    for c in found:
        c.kernel.check_columns(len(c.places))
    return PairField(found, tuple(taking.columns))


class _Taking:
    """What each loss takes of a candidate; collects the columns to read."""

    def __init__(
        self, target: Any, features: tuple[str, ...], names: Sequence[str], options: TournamentOptions
    ) -> None:
        self.options, self.features, self._names = options, features, names
        loss = options.loss
        self.kind = loss if isinstance(loss, str) else _kind_of(loss)
        self.target = self._check_target(target)
        if self.kind in ("mahalanobis", "clustering") and not features:
            raise ConfigError(f"features: loss={self.kind!r} takes coordinates; name their columns")
        first = [] if self.target is None else [self.target]
        if self.target in features:
            raise ConfigError(f"features: candidates would see the target {self.target!r}; drop it")
        self.columns: list[str] = list(first)
        if self.kind in ("mahalanobis", "clustering", "kernel"):
            self._coordinates = places_of(self.columns, features)

    def _check_target(self, target: Any) -> str | None:
        if self.kind == "clustering":
            if target is not None:
                raise ConfigError("target: a partition has none, its cells are the candidates; drop it")
            return None
        if self.kind == "kernel" and target is None:
            return None
        if not isinstance(target, str):
            what = "labels of classes" if self.kind == "mahalanobis" else "outcomes to be ranked"
            raise ConfigError(f"target: name the column of the {what}, not {target!r}")
        return target

    def candidate(self, name: str, what: Any) -> PairCandidate:
        """One of them."""
        if self.kind == "kernel":
            if not isinstance(what, Kernel) or what.degrees != (2,) or len(what.parts) != 1:
                raise ConfigError(f"candidates: with loss='kernel' {name!r} must be a kernel of pairs")
            first = () if self.target is None else (0,)
            return PairCandidate(name, what, (*first, *self._coordinates))
        if self.kind == "mahalanobis":
            return self._metric(name, what)
        loss: Any = self.options.loss
        if self.kind == "clustering":
            kernel = loss if isinstance(loss, Kernel) else Clustering()
            place, scorer = self._number(name, what)
            return PairCandidate(name, kernel, (place, *self._coordinates), scorer)
        kernel = loss if isinstance(loss, Kernel) else Ranking(rankings()[loss])  # type: ignore[arg-type]
        place, scorer = self._number(name, what)
        return PairCandidate(name, kernel, (0, place), scorer)

    def _number(self, name: str, what: Any) -> tuple[int, Any]:
        """Place of a column of scores or cells, or the function or model that gives them."""
        if isinstance(what, str) and what not in self._names and what.endswith(MODEL_FILE):
            what = load_model(what)
        if isinstance(what, str):
            if what == self.target:
                raise ConfigError(f"candidates: {what!r} is the target itself; drop it")
            return places_of(self.columns, (what,))[0], None
        scorer = computed(name, what, self.features, self._names, self.target, self.columns, None)
        if scorer.model is not None and self.kind == "ranking":
            ways = ("decision_function", "predict_proba", "predict")
            scorer = replace(scorer, response=next(way for way in ways if hasattr(what, way)))
        return COMPUTED, scorer

    def _metric(self, name: str, what: Any) -> PairCandidate:
        matrix = load_matrix(what) if isinstance(what, str) else _matrix(name, what)
        if matrix.shape != (len(self.features),) * 2:
            raise ConfigError(
                f"candidates: the matrix {name!r} has shape {matrix.shape}, and there are "
                f"{len(self.features)} features; give one row and column for each"
            )
        threshold = self.options.loss_parameter
        try:
            kernel = MetricLoss(
                tuple(map(tuple, matrix.tolist())), NEAR if threshold is None else float(threshold)
            )
        except ConfigError as error:
            raise ConfigError(f"candidates: {name!r}: {error}") from error
        return PairCandidate(name, kernel, (0, *self._coordinates))


def _kind_of(kernel: Any) -> str:
    for kind, kinds in (("ranking", Ranking), ("clustering", Clustering)):
        if isinstance(kernel, kinds):
            return kind
    raise ConfigError(
        f"loss: the kernel {kernel.name!r} takes no candidates; use a ranking or clustering kernel, or give "
        "kernels as candidates with loss='kernel'"
    )


def _with_names(candidates: Any) -> Any:
    """Matrices in a sequence go by their numbers, their files by their names."""
    if isinstance(candidates, Sequence) and not isinstance(candidates, str):
        found: dict[str, Any] = {}
        for number, what in enumerate(candidates):
            if isinstance(what, str):
                name = Path(what).stem if what.endswith((MATRIX_FILE, MODEL_FILE)) else what
            elif isinstance(what, Kernel):
                name = f"{what.name} {number}"
            elif hasattr(what, "shape") or isinstance(what, Sequence):
                name = f"matrix {number}"
            else:
                name = str(getattr(what, "__name__", type(what).__name__))
            if name in found:
                raise ConfigError(
                    f"candidates: two are called {name!r}; give a dictionary with a name for each"
                )
            found[name] = what
        return found
    if isinstance(candidates, np.ndarray):
        raise ConfigError("candidates: give a list or dictionary of matrices, not one array")
    return candidates


def load_matrix(path: str) -> NDArray[np.float64]:
    """A matrix from a ``.npy`` file, in which objects are refused.

    Raises
    ------
    DataError
        If it cannot be read, or holds no matrix of numbers.
    """
    if not path.endswith(MATRIX_FILE):
        raise ConfigError(f"candidates: {path!r} is no matrix; name a {MATRIX_FILE} file")
    try:
        # mapped, so that nothing is allocated by what the header claims
        found = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # whatever a strange file makes of the reader
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise DataError(
            f"candidate {path!r} cannot be read as a matrix: {reason}; write it by numpy.save"
        ) from error
    return _matrix(path, found)


def _matrix(name: str, what: Any) -> NDArray[np.float64]:
    """A square matrix; what rounding has made unequal on both sides of the diagonal is averaged."""
    try:
        found = np.asarray(what)
    except ValueError as error:
        raise ConfigError(f"candidates: {name!r} is no matrix; give rows of equal length") from error
    if found.dtype.kind not in "biuf" or found.ndim != 2 or found.shape[0] != found.shape[1]:
        raise ConfigError(
            f"candidates: {name!r} must be a square matrix of numbers, not {found.dtype} of shape "
            f"{found.shape}"
        )
    matrix = np.array(found, np.float64)
    if np.isfinite(matrix).all() and np.allclose(matrix, matrix.T, rtol=1e-9, atol=0.0):
        matrix = 0.5 * (matrix + matrix.T)
    return matrix
