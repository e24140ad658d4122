"""From what a user names to candidates: columns, functions, models, matrices, kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from distmom.checks import names_of
from distmom.errors import ConfigError
from distmom.estimators.tournament.model_files import MATRIX_FILE, MODEL_FILE, as_matrix, load_model
from distmom.estimators.tournament.options import TournamentOptions, rankings
from distmom.numerics.kernels.kernel import Kernel
from distmom.numerics.kernels.risk import Clustering, MetricLoss, Ranking
from distmom.passes.opening import Names
from distmom.reductions.losses.candidates import Candidate
from distmom.reductions.losses.pair_losses import COMPUTED, PairCandidate

NEAR = 2.0
"""Squared distance between near and far unless another one is given."""

SCORES = ("decision_function", "predict_proba", "predict")
"""Methods of a model that scores, the first it has."""

COORDINATES = ("mahalanobis", "clustering", "kernel")
"""Losses that take the features of a row themselves."""


@dataclass(frozen=True)
class Field:
    """The candidates, and the columns to read for them: the target first, if there is one."""

    candidates: tuple[Any, ...]
    columns: tuple[str, ...]

    def described(self) -> list[list[str]]:
        """What tells each candidate from others, in words that can be compared."""
        return [c.described(self.columns) for c in self.candidates]

    def of(self, chosen: Sequence[int]) -> Field:
        """Some of the candidates, and the columns to read for these alone."""
        mine = [self.candidates[i] for i in chosen]
        used = list(dict.fromkeys([0, *(place for c in mine for place in c.places)]))
        moved = {place: i for i, place in enumerate(used)}
        columns = tuple(self.columns[place] for place in used)
        return Field(tuple(replace(c, places=tuple(moved[i] for i in c.places)) for c in mine), columns)


def find_candidates(
    candidates: Any, target: Any, features: Names, names: Sequence[str], options: TournamentOptions
) -> Field:
    """The candidates by name, against the names of the columns there are.

    ConfigError if there is none, two have one name, one cannot be combined with the loss, or target or
    features are missing; DataError if a file of a model or matrix cannot be read, or holds types that are not
    trusted.
    """
    taking = _Taking(target, names_of("features", features), names, options)
    found = tuple(taking.candidate(name, what) for name, what in named_candidates(candidates).items())
    return Field(found, tuple(taking.columns))


class _Taking:
    """What a loss takes of each candidate, and the columns to read for that."""

    def __init__(
        self, target: Any, features: tuple[str, ...], names: Sequence[str], options: TournamentOptions
    ) -> None:
        self._options, self._names, self._features = options, names, features
        self.kind = options.kind
        self.target = self._checked(target)
        self.columns: list[str] = [] if self.target is None else [self.target]
        self._responses: tuple[str, ...] = ("predict_proba",) if options.loss == "log" else SCORES[-1:]
        if self.kind == "ranking":
            self._responses = SCORES
        if self.kind == "row":
            return
        if self.kind in ("mahalanobis", "clustering") and not features:
            raise ConfigError(f"features: loss={self.kind!r} takes coordinates; name their columns")
        if self.target in features:
            raise ConfigError(f"features: candidates would see the target {self.target!r}; drop it")
        if self.kind in COORDINATES:
            self._coordinates = self._places(features)

    def _checked(self, target: Any) -> str | None:
        """The target, if it is one of this loss."""
        if self.kind == "clustering" and target is not None:
            raise ConfigError("target: a partition has none, its cells are the candidates; drop it")
        if target is None and self.kind in ("clustering", "kernel"):
            return None
        if not isinstance(target, str):
            what = {"row": "that the candidates predict", "mahalanobis": "of the labels of classes"}
            of = what.get(self.kind, "of the outcomes to be ranked")
            raise ConfigError(f"target: name the column {of}, not {target!r}")
        return target

    def candidate(self, name: str, what: Any) -> Candidate | PairCandidate:
        """One of them."""
        if self.kind == "row":
            return self._number(name, what)
        found = self._of_pairs(name, what)
        found.kernel.check_columns(len(found.places))
        return found

    def _of_pairs(self, name: str, what: Any) -> PairCandidate:
        if self.kind == "kernel":
            if not isinstance(what, Kernel) or what.degrees != (2,) or len(what.parts) != 1:
                raise ConfigError(f"candidates: with loss='kernel' {name!r} must be a kernel of pairs")
            first = () if self.target is None else (0,)
            return PairCandidate(name, what, (*first, *self._coordinates))
        if self.kind == "mahalanobis":
            return PairCandidate(name, self._metric(name, what), (0, *self._coordinates))
        loss: Any = self._options.loss
        number = self._number(name, what)
        place, scorer = (COMPUTED, number) if number.computed else (number.places[0], None)
        if self.kind == "clustering":
            kernel = loss if isinstance(loss, Kernel) else Clustering()
            return PairCandidate(name, kernel, (place, *self._coordinates), scorer)
        kernel = loss if isinstance(loss, Kernel) else Ranking(rankings()[loss])  # type: ignore[arg-type]
        return PairCandidate(name, kernel, (0, place), scorer)

    def _metric(self, name: str, what: Any) -> MetricLoss:
        matrix, n = as_matrix(name, what), len(self._features)
        if matrix.shape != (n, n):
            raise ConfigError(
                f"candidates: the matrix {name!r} has shape {matrix.shape}, and there are {n} features; "
                "give one row and column for each"
            )
        threshold = NEAR if self._options.loss_parameter is None else float(self._options.loss_parameter)
        try:
            return MetricLoss(tuple(map(tuple, matrix.tolist())), threshold)
        except ConfigError as error:
            raise ConfigError(f"candidates: {name!r}: {error}") from error

    def _number(self, name: str, what: Any) -> Candidate:
        """What gives one number a row: a column, or a function or model with the features that it takes."""
        if isinstance(what, str) and what not in self._names and what.endswith(MODEL_FILE):
            what = load_model(what)
        if isinstance(what, str):
            if what == self.target:
                raise ConfigError(f"candidates: {what!r} is the target itself; drop it")
            return Candidate(name, self._places((what,)))
        model = hasattr(what, "predict")
        if not model and not callable(what):
            raise ConfigError(
                f"candidates: {name!r} must be a column, a function of the features or a model that "
                f"predicts, not {what!r}"
            )
        wanted = self._wanted(name, getattr(what, "feature_names_in_", None) if model else None)
        if not model:
            return Candidate(name, self._places(wanted), wanted, function=what)
        response = next((way for way in self._responses if hasattr(what, way)), None)
        if response is None:
            raise ConfigError(f"candidate {name!r}: loss='log' needs a model with {self._responses[0]}")
        return Candidate(name, self._places(wanted), wanted, model=what, response=response)

    def _places(self, wanted: Sequence[str]) -> tuple[int, ...]:
        """Places of columns, which are added where they are new."""
        self.columns += [name for name in wanted if name not in self.columns]
        return tuple(self.columns.index(name) for name in wanted)

    def _wanted(self, name: str, known: Any) -> tuple[str, ...]:
        """The features of a function, or those that a model was fitted on."""
        wanted = tuple(map(str, known)) if known is not None else self._features
        if not wanted:
            raise ConfigError(
                f"features: candidate {name!r} does not say which columns it takes; give features"
            )
        absent = [feature for feature in wanted if feature not in self._names]
        if absent:
            raise ConfigError(
                f"candidate {name!r} takes the column {absent[0]!r}, which the data does not have"
            )
        if self.target in wanted:
            raise ConfigError(f"features: candidate {name!r} would see the target {self.target!r}; drop it")
        return wanted


def named_candidates(candidates: Any) -> dict[str, Any]:
    """Candidates by name: in a sequence columns go by theirs, files by their stems, matrices by numbers."""
    if isinstance(candidates, Mapping):
        if not all(isinstance(name, str) and name for name in candidates):
            raise ConfigError("candidates: names must be texts")
        found = dict(candidates)
    else:
        if isinstance(candidates, str):
            candidates = [candidates]
        if not isinstance(candidates, Sequence):
            what = "one array" if isinstance(candidates, np.ndarray) else repr(candidates)
            raise ConfigError(f"candidates: must be a list or a dictionary of names, not {what}")
        found = {}
        for number, what in enumerate(candidates):
            name = _name_of(what, number)
            if name in found:
                raise ConfigError(
                    f"candidates: two are called {name!r}; give a dictionary with a name for each, or one of "
                    "them"
                )
            found[name] = what
    if not found:
        raise ConfigError("candidates: give at least one")
    return found


def _name_of(what: Any, number: int) -> str:
    if isinstance(what, str):
        return Path(what).stem if what.endswith((MODEL_FILE, MATRIX_FILE)) else what
    if isinstance(what, Kernel):
        return f"{what.name} {number}"
    if hasattr(what, "shape") or isinstance(what, Sequence):
        return f"matrix {number}"
    return str(getattr(what, "__name__", type(what).__name__))
