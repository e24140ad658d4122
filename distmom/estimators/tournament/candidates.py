"""From what a user names to candidates: columns, functions, models, files of models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from distmom.checks import names_of
from distmom.errors import ConfigError, DataError
from distmom.numerics.kernels.kernel import Kernel
from distmom.passes.opening import Names
from distmom.reductions.losses.candidates import Candidate

MODEL_FILE, MATRIX_FILE = ".skops", ".npy"
MODEL_INSTALL = "pip install 'distmom[models]'"


@dataclass(frozen=True)
class Field:
    """The candidates, and the columns to read for them: the target first, if there is one.

    Attributes
    ----------
    candidates : tuple of Candidate, or of PairCandidate
    columns : tuple of str
    """

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


def find_candidates(candidates: Any, target: Any, features: Names, names: Sequence[str], loss: Any) -> Field:
    """The candidates by name, against the names of the columns there are.

    Raises
    ------
    ConfigError
        There is none, two have one name, one is neither column nor function nor model; a model or function
        has no features; the target is missing or a candidate.
    DataError
        A file of a model cannot be read or holds types that are not trusted.
    """
    if not isinstance(target, str):
        raise ConfigError(f"target: name the column that the candidates predict, not {target!r}")
    response = "predict_proba" if loss == "log" else "predict"
    taking = Taking(target, names_of("features", features), names, (response,))
    found = tuple(taking.number(name, what) for name, what in named_candidates(candidates).items())
    return Field(found, tuple(taking.columns))


class Taking:
    """Collects the columns to read for the candidates.

    Attributes
    ----------
    target : str or None
    features : tuple of str
        Columns for functions, and for models that do not say what they take.
    columns : list of str
        What is to be read so far: the target first.
    """

    def __init__(
        self, target: str | None, features: tuple[str, ...], names: Sequence[str], responses: Sequence[str]
    ) -> None:
        self.target, self.features = target, features
        self._names, self._responses = names, responses
        self.columns: list[str] = [] if target is None else [target]

    def places(self, wanted: Sequence[str]) -> tuple[int, ...]:
        """Places of columns, which are added where they are new."""
        self.columns += [name for name in wanted if name not in self.columns]
        return tuple(self.columns.index(name) for name in wanted)

    def number(self, name: str, what: Any) -> Candidate:
        """What gives one number a row: a column, or a function or model with the features that it takes."""
        if isinstance(what, str) and what not in self._names and what.endswith(MODEL_FILE):
            what = load_model(what)
        if isinstance(what, str):
            if what == self.target:
                raise ConfigError(f"candidates: {what!r} is the target itself; drop it")
            return Candidate(name, self.places((what,)))
        model = hasattr(what, "predict")
        if not model and not callable(what):
            raise ConfigError(
                f"candidates: {name!r} must be a column, a function of the features or a model that "
                f"predicts, not {what!r}"
            )
        wanted = self._wanted(name, getattr(what, "feature_names_in_", None) if model else None)
        if not model:
            return Candidate(name, self.places(wanted), wanted, function=what)
        response = next((way for way in self._responses if hasattr(what, way)), None)
        if response is None:
            raise ConfigError(f"candidate {name!r}: loss='log' needs a model with {self._responses[0]}")
        return Candidate(name, self.places(wanted), wanted, model=what, response=response)

    def _wanted(self, name: str, known: Any) -> tuple[str, ...]:
        """The features of a function, or those that a model was fitted on."""
        wanted = tuple(map(str, known)) if known is not None else self.features
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


def load_model(path: str) -> Any:
    """A model from a file written by skops, which holds no code.

    Raises
    ------
    DataError
        If it cannot be read, or names types beyond those that skops trusts.
    """
    try:
        import skops.io
    except ImportError as error:
        raise ConfigError(f"candidate {path!r}: files of models need skops; {MODEL_INSTALL}") from error
    try:
        unknown = skops.io.get_untrusted_types(file=path)
        if unknown:
            raise DataError(
                f"candidate {path!r} holds the types {', '.join(map(str, unknown[:3]))}, which are not "
                "trusted; save a plain scikit-learn model, or give its predictions as a column"
            )
        return skops.io.load(path, trusted=[])
    except DataError:
        raise
    except Exception as error:  # whatever a strange file makes of the reader
        reason = str(error).partition("\n")[0]
        raise DataError(
            f"candidate {path!r} cannot be read as a model: {reason}; write it by skops"
        ) from error
