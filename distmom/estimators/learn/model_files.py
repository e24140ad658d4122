"""A learned model as a folder: one JSON file and one .npy file for each array; nothing that is executed."""

from __future__ import annotations

import json
import os
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from distmom.errors import ConfigError, DataError, ResourceError
from distmom.estimators.learn.learner import Learner
from distmom.estimators.versions import versions
from distmom.lake.files.leftovers import OwnFolder

SCHEMA_VERSION = 1

LEARNERS = {
    "metric": ("metric", "MahalanobisMetric"),
    "ranking": ("ranker", "PairwiseRanker"),
    "regression": ("linear", "RobustLinearRegression"),
    "classification": ("linear", "RobustLogisticRegression"),
    "clustering": ("kmeans", "RobustKMeans"),
}
"""The learners that a model may be of: word, module and class."""

DESCRIPTION = "model.json"
NAMES = "feature_names_in_"
RETIRED = {"wild_share_": "outlier_share_", "feature_spread_": "feature_scale_"}
"""Names in models written before 0.1.0, and their present names."""

USES = ("predict", "transform", "decision_function", "predict_proba")


def class_of(name: str) -> type[Learner]:
    """The class of learners of that name; no other name is ever imported."""
    [module] = (module for module, known in LEARNERS.values() if known == name)
    found: type[Learner] = getattr(import_module(f"distmom.estimators.learn.{module}"), name)
    return found


def check_model_folder(folder: str | os.PathLike[str]) -> Path:
    """The folder, after a check that a model can be written there; call it before long work.

    ConfigError if it exists and holds something else than a model, or the folder around it cannot be written.
    """
    target = Path(folder).expanduser()
    around = target.absolute().parent
    if not around.is_dir() or not os.access(around, os.W_OK):
        raise ConfigError(f"model {str(folder)!r}: {str(around)!r} is not a writable folder")
    if target.exists() and not (target / DESCRIPTION).is_file():
        raise ConfigError(f"model {str(folder)!r}: exists and holds no model; name another folder")
    return target


def save_model(model: Learner, folder: str | os.PathLike[str]) -> None:
    """Write a fitted model; the folder appears whole, in place of an earlier model.

    Parameters
    ----------
    model : learner
        A fitted learner of this package.
    folder : str or path

    Raises
    ------
    ConfigError
        If the model is of another kind or has not been fitted, or the folder holds something else.
    ResourceError
        If the disk is full or the folder cannot be written.

    Notes
    -----
    ``model.json`` has the class, its parameters, and all that was learned except arrays; each array is a file
    ``NAME.npy``. `load_model` reads the folder.
    """
    kind = type(model).__name__
    home = type(model).__module__.removeprefix("distmom.estimators.learn.")
    if (home, kind) not in LEARNERS.values():
        raise ConfigError(f"model: must be a learner of distmom, not {kind}")
    if not hasattr(model, "n_iter_"):
        raise ConfigError("model: has not been fitted; call fit first")
    target = check_model_folder(folder)
    description, arrays = _parts(model)
    try:
        own = OwnFolder(target.absolute().parent)
        try:
            _write_whole(target, own, description, arrays)
        finally:
            own.close()
    except OSError as error:
        reason = error.strerror or str(error).partition("\n")[0]
        raise ResourceError(f"model {str(folder)!r} could not be written: {reason}") from error


def _write_whole(
    target: Path, own: OwnFolder, description: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]
) -> None:
    """Write the files and move them into place in one step; what was there goes with the old folder."""
    temporary = own.path / "model"
    temporary.mkdir()
    for name, array in arrays.items():
        np.save(temporary / f"{name}.npy", array, allow_pickle=False)
    text = json.dumps(description, indent=1, allow_nan=False)
    (temporary / DESCRIPTION).write_text(text + "\n", "utf-8")
    earlier = own.path / "earlier"
    if target.exists():
        own.hold_on()  # killed between the two steps, the model that was there would be nowhere else
        target.replace(earlier)
    try:
        temporary.replace(target)
    except OSError:
        if earlier.exists():
            earlier.replace(target)
        raise


def _parts(model: Learner) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
    """What goes into the description, and the arrays by name."""
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    learned: dict[str, Any] = {}
    for name, value in vars(model).items():
        if not _is_learned(name):
            continue
        if isinstance(value, dict):
            arrays |= {f"{name}.{key}": np.asarray(part) for key, part in value.items()}
        elif not isinstance(value, np.ndarray):
            learned[name] = value.item() if isinstance(value, np.generic) else value
        elif value.dtype.kind != "O":
            arrays[name] = value
        elif all(isinstance(item, str) for item in value.tolist()):
            arrays[name] = value.astype(str)
        else:
            raise ConfigError(f"model: {name} are neither numbers nor texts, so it cannot be written")
    parameters = {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in model.get_params(deep=False).items()
    }
    description = {
        "schema_version": SCHEMA_VERSION,
        "class": type(model).__name__,
        "parameters": {name: value for name, value in parameters.items() if _is_json(value)},
        "learned": learned,
        "arrays": sorted(arrays),
        "versions": versions(),
    }
    return description, arrays


def _is_learned(name: str) -> bool:
    return name.endswith("_") and not name.startswith("_")


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True


def load_model(folder: str | os.PathLike[str]) -> Learner:
    """Read a model that `save_model` wrote.

    Raises
    ------
    DataError
        If there is none, or it is damaged.

    Examples
    --------
    >>> import tempfile, pathlib, numpy as np
    >>> import distmom as dm
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> model = dm.RobustLinearRegression(random_state=0).fit(X, X[:, 0])
    >>> place = pathlib.Path(tempfile.mkdtemp()) / "model"
    >>> dm.save_model(model, place)
    >>> bool((dm.load_model(place).coef_ == model.coef_).all())
    True
    """
    place = Path(folder).expanduser()
    try:
        description = json.loads((place / DESCRIPTION).read_text("utf-8"))
        if description["schema_version"] != SCHEMA_VERSION:
            raise ValueError("it is of another version")
        model = class_of(description["class"])(**description["parameters"])
        for name, value in description["learned"].items():
            _set(model, name, value)
        for name in description["arrays"]:
            if not all(part.isidentifier() for part in name.split(".")):
                raise ValueError(f"{name!r} is not the name of an array")
            _set(model, name, np.load(place / f"{name}.npy", allow_pickle=False))
        _try(model)
    except OSError as error:
        raise DataError(f"model {str(folder)!r} cannot be read: {error.strerror or error}") from error
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, MemoryError) as error:
        reason = str(error).partition("\n")[0]
        raise DataError(
            f"model {str(folder)!r} is damaged or was not written by distmom: {reason}"
        ) from error
    return model


def _try(model: Learner) -> None:
    """Apply the model to a row of zeros: anything that is missing or does not fit shows now."""
    row = np.zeros((1, getattr(model, "n_features_in_")))  # noqa: B009 (learned)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the row has no names
        for use in USES:
            if hasattr(model, use):
                getattr(model, use)(row)


def _set(model: Learner, name: str, value: Any) -> None:
    """Set what was learned; nothing else can be set."""
    first, _, key = name.partition(".")
    first = RETIRED.get(first, first)
    if not _is_learned(first):
        raise ValueError(f"{name!r} is not a learned attribute")
    if key:
        value = {**getattr(model, first, {}), key: value}
    elif first == NAMES:
        value = value.astype(object)
    setattr(model, first, value)
