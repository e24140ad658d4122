"""From what a user names to candidates: columns, functions, models, files of models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from distmom.errors import ConfigError, DataError
from distmom.passes.opening import Names, names_of
from distmom.reductions.losses.candidates import Candidate

MODEL_FILE = ".skops"
MODEL_INSTALL = "pip install 'distmom[models]'"


@dataclass(frozen=True)
class Field:
    """The candidates, and the columns to read for them: the target first.

    Attributes
    ----------
    candidates : tuple of Candidate
    columns : tuple of str
    """

    candidates: tuple[Candidate, ...]
    columns: tuple[str, ...]

    def described(self) -> list[list[str]]:
        """What tells each candidate from others, in words that can be compared."""
        return [[c.name, *(self.columns[i] for i in c.places)] for c in self.candidates]

    def of(self, chosen: Sequence[int]) -> Field:
        """Some of the candidates, and the columns to read for these alone."""
        mine = [self.candidates[i] for i in chosen]
        used = list(dict.fromkeys([0, *(place for c in mine for place in c.places)]))
        moved = {place: i for i, place in enumerate(used)}
        columns = tuple(self.columns[place] for place in used)
        return Field(tuple(_moved(c, moved) for c in mine), columns)


def _moved(candidate: Candidate, moved: Mapping[int, int]) -> Candidate:
    from dataclasses import replace

    return replace(candidate, places=tuple(moved[place] for place in candidate.places))


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
    given = named_candidates(candidates)
    if not given:
        raise ConfigError("candidates: give at least one")
    asked = names_of("features", features)
    columns = [target]
    found = []
    for name, what in given.items():
        if isinstance(what, str) and what not in names and what.endswith(MODEL_FILE):
            what = load_model(what)
        if isinstance(what, str):
            if what == target:
                raise ConfigError(f"candidates: {what!r} is the target itself; drop it")
            found.append(Candidate(name, places_of(columns, (what,))))
            continue
        found.append(computed(name, what, asked, names, target, columns, loss))
    return Field(tuple(found), tuple(columns))


def computed(
    name: str,
    what: Any,
    asked: tuple[str, ...],
    names: Sequence[str],
    target: str | None,
    columns: list[str],
    loss: Any,
) -> Candidate:
    """A model or function, with the features that it takes."""
    model = hasattr(what, "predict")
    if not model and not callable(what):
        raise ConfigError(
            f"candidates: {name!r} must be a column, a function of the features or a model that predicts, "
            f"not {what!r}"
        )
    known = getattr(what, "feature_names_in_", None) if model else None
    wanted = tuple(map(str, known)) if known is not None else asked
    if not wanted:
        raise ConfigError(f"features: candidate {name!r} does not say which columns it takes; give features")
    absent = [feature for feature in wanted if feature not in names]
    if absent:
        raise ConfigError(f"candidate {name!r} takes the column {absent[0]!r}, which the data does not have")
    if target in wanted:
        raise ConfigError(f"features: candidate {name!r} would see the target {target!r}; drop it")
    places = places_of(columns, wanted)
    if not model:
        return Candidate(name, places, wanted, function=what)
    response = "predict_proba" if loss == "log" else "predict"
    if not hasattr(what, response):
        raise ConfigError(f"candidate {name!r}: loss='log' needs a model with {response}")
    return Candidate(name, places, wanted, model=what, response=response)


def places_of(columns: list[str], wanted: Sequence[str]) -> tuple[int, ...]:
    """Places of columns, which are added where they are new."""
    for name in wanted:
        if name not in columns:
            columns.append(name)
    return tuple(columns.index(name) for name in wanted)


def named_candidates(candidates: Any) -> dict[str, Any]:
    """Candidates by name."""
    if isinstance(candidates, Mapping):
        if not all(isinstance(name, str) and name for name in candidates):
            raise ConfigError("candidates: names must be texts")
        return dict(candidates)
    if isinstance(candidates, str):
        candidates = [candidates]
    if not isinstance(candidates, Sequence):
        raise ConfigError(f"candidates: must be a list or a dictionary of names, not {candidates!r}")
    found: dict[str, Any] = {}
    for what in candidates:
        name = _name_of(what)
        if name in found:
            raise ConfigError(
                f"candidates: two are called {name!r}; give a dictionary with a name for each, or one of them"
            )
        found[name] = what
    return found


def _name_of(what: Any) -> str:
    if isinstance(what, str):
        return Path(what).stem if what.endswith(MODEL_FILE) else what
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
