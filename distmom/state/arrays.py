"""Conversion of states to named plain arrays and back, so that they can be saved.

The conversion follows the fields of the classes listed here: a new field needs no code, a new class one word.
A saved state names its classes only by these words; nothing is ever imported or called because of the content
of a file.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distmom.lake.keys.keyvalues import key_from_bytes, key_to_bytes
from distmom.numerics.blocks.moments import Moments
from distmom.numerics.blocks.weighted_moments import WeightedMoments
from distmom.numerics.samples.distinct import UnitSketch
from distmom.numerics.samples.pool import RowPool
from distmom.numerics.samples.sample import RowSample
from distmom.numerics.samples.stretches import Stretches
from distmom.reductions.accumulate.leaves import Rows
from distmom.reductions.state import MeanState
from distmom.reductions.stream import StreamNode, StreamState

CLASSES: dict[str, type] = {
    c.__name__: c
    for c in (
        MeanState,
        Moments,
        RowPool,
        RowSample,
        Rows,
        StreamNode,
        StreamState,
        Stretches,
        UnitSketch,
        WeightedMoments,
    )
}
"""Dataclasses and named tuples that form states."""

KEYS = "tuple[Key, ...]"
"""Annotation of fields with keys of groups."""

Arrays = dict[str, NDArray[Any] | tuple[bytes, ...]]


def to_arrays(state: Any, name: str, arrays: Arrays) -> Any:
    """Add the arrays of a state to `arrays`, under names that begin with `name`.

    Parameters
    ----------
    state : object
        An instance of `CLASSES`, or an array, a number, a bool, None, or a tuple of those.
    arrays : dict
        Receives the arrays.

    Returns
    -------
    object
        The form of the state, suitable for JSON: what `from_arrays` needs besides the arrays.
    """
    if state is None or isinstance(state, (bool, int)):
        return state
    if isinstance(state, np.ndarray):
        arrays[name] = state
        return "array"
    if isinstance(state, np.generic):
        arrays[name] = np.asarray(state)
        return "scalar"
    kind = type(state).__name__
    if CLASSES.get(kind) is type(state):
        form = {}
        for field, annotation in _fields(type(state)).items():
            value, inner = getattr(state, field), f"{name}.{field}"
            if annotation == KEYS:
                arrays[inner] = tuple(map(key_to_bytes, value))
                form[field] = "keys"
            else:
                form[field] = to_arrays(value, inner, arrays)
        return {"is": kind, "of": form}
    if type(state) is tuple:
        return [to_arrays(v, f"{name}.{i}", arrays) for i, v in enumerate(state)]
    raise TypeError(f"{name}: a {kind} cannot be saved; add the class to CLASSES in {__name__}")


def from_arrays(form: Any, name: str, arrays: Mapping[str, Any]) -> Any:
    """The state with this form, from the arrays whose names begin with `name`.

    ValueError or KeyError if the form is not valid, or an array is missing.
    """
    if form is None or isinstance(form, (bool, int)):
        return form
    if form in ("array", "scalar"):
        if not isinstance(arrays[name], np.ndarray) or (form == "scalar" and arrays[name].shape):
            raise ValueError(f"{name} is not of the form {form}")
        return arrays[name] if form == "array" else arrays[name][()]
    if form == "keys":
        return tuple(map(key_from_bytes, arrays[name]))
    if isinstance(form, list):
        return tuple(from_arrays(f, f"{name}.{i}", arrays) for i, f in enumerate(form))
    if isinstance(form, dict) and form.get("is") in CLASSES:
        kind, inner = CLASSES[form["is"]], form["of"]
        if list(inner) != list(_fields(kind)):
            raise ValueError(f"a {form['is']} has other fields here: it was saved by another version")
        return kind(**{f: from_arrays(inner[f], f"{name}.{f}", arrays) for f in inner})
    raise ValueError(f"{name} has no form that is known")


def _fields(kind: Any) -> dict[str, Any]:
    """Names of the fields and, for dataclasses, their annotations as written."""
    if dataclasses.is_dataclass(kind):
        return {field.name: field.type for field in dataclasses.fields(kind)}
    return dict.fromkeys(kind._fields)
