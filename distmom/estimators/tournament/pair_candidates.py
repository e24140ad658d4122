"""Candidates whose losses are of pairs of rows: matrices, scores, cells, kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from distmom.checks import names_of
from distmom.errors import ConfigError, DataError
from distmom.estimators.tournament.candidates import MATRIX_FILE, Field, Taking, named_candidates
from distmom.estimators.tournament.options import TournamentOptions, rankings
from distmom.numerics.arrays import Floats
from distmom.numerics.kernels.kernel import Kernel
from distmom.numerics.kernels.risk import Clustering, MetricLoss, Ranking
from distmom.passes.opening import Names
from distmom.reductions.losses.pair_losses import COMPUTED, PairCandidate

NEAR = 2.0
"""Squared distance between near and far unless another one is given."""

SCORES = ("decision_function", "predict_proba", "predict")
"""Methods of a model that scores, the first it has."""


def find_pair_candidates(
    candidates: Any, target: Any, features: Names, names: Sequence[str], options: TournamentOptions
) -> Field:
    """The candidates by name, against the names of the columns there are.

    Raises
    ------
    ConfigError
        There is none, two have one name, one does not go with the loss, or target or features are missing.
    DataError
        A file of a matrix or model cannot be read.
    """
    given = named_candidates(candidates)
    pairs = _Pairs(target, names_of("features", features), names, options)
    found = tuple(pairs.candidate(name, what) for name, what in given.items())
    for c in found:
        c.kernel.check_columns(len(c.places))
    return Field(found, tuple(pairs.taking.columns))


class _Pairs:
    """What each loss takes of a candidate."""

    def __init__(
        self, target: Any, features: tuple[str, ...], names: Sequence[str], options: TournamentOptions
    ) -> None:
        self._options, self._features = options, features
        loss = options.loss
        self.kind = loss if isinstance(loss, str) else _kind_of(loss)
        target = self._checked(target)
        if self.kind in ("mahalanobis", "clustering") and not features:
            raise ConfigError(f"features: loss={self.kind!r} takes coordinates; name their columns")
        if target in features:
            raise ConfigError(f"features: candidates would see the target {target!r}; drop it")
        self.taking = Taking(target, features, names, SCORES if self.kind == "ranking" else SCORES[-1:])
        if self.kind in ("mahalanobis", "clustering", "kernel"):
            self._coordinates = self.taking.places(features)

    def _checked(self, target: Any) -> str | None:
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
            first = () if self.taking.target is None else (0,)
            return PairCandidate(name, what, (*first, *self._coordinates))
        if self.kind == "mahalanobis":
            return self._metric(name, what)
        loss: Any = self._options.loss
        number = self.taking.number(name, what)
        place, scorer = (COMPUTED, number) if number.computed else (number.places[0], None)
        if self.kind == "clustering":
            kernel = loss if isinstance(loss, Kernel) else Clustering()
            return PairCandidate(name, kernel, (place, *self._coordinates), scorer)
        kernel = loss if isinstance(loss, Kernel) else Ranking(rankings()[loss])  # type: ignore[arg-type]
        return PairCandidate(name, kernel, (0, place), scorer)

    def _metric(self, name: str, what: Any) -> PairCandidate:
        matrix = load_matrix(what) if isinstance(what, str) else _matrix(name, what)
        if matrix.shape != (len(self._features),) * 2:
            raise ConfigError(
                f"candidates: the matrix {name!r} has shape {matrix.shape}, and there are "
                f"{len(self._features)} features; give one row and column for each"
            )
        threshold = self._options.loss_parameter
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


def load_matrix(path: str) -> Floats:
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


def _matrix(name: str, what: Any) -> Floats:
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
