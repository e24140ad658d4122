"""Wrong calls of public functions and classes: suggests what to write instead of an unknown keyword."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Mapping
from functools import wraps
from inspect import BoundArguments, Parameter, Signature, signature
from types import FunctionType
from typing import Any

from distmom.checks import did_you_mean

BLOCKS = "blocks=…, such as blocks="
SCAN = "dm.scan(data, "
EXECUTOR = "executor=dm."

PLACES: dict[str, str] = {
    "n_blocks": "blocks=…",
    "scheme": f"{BLOCKS}dm.SampledBlocks(…)",
    "block_size": f"{BLOCKS}dm.RandomBlocks(size=…)",
    "tau": f"{BLOCKS}dm.SampledBlocks(tau=…)",
    "order": f"{BLOCKS}dm.StoredBlocks()",
    "block_by": f"{BLOCKS}dm.UnitBlocks('column') or dm.FileBlocks()",
    "chunk_rows": f"{BLOCKS}dm.RandomBlocks(chunk_rows=…)",
    "repeats": f"{BLOCKS}dm.RandomBlocks(repeats=…)",
    "fine": f"{BLOCKS}dm.RandomBlocks(fine='many')",
    "nan": f"{SCAN}nan=…)",
    "missing": f"{SCAN}missing=…)",
    "on_bad_file": f"{SCAN}on_bad_file=…)",
    "storage_options": f"{SCAN}storage_options=…)",
    "batch_rows": f"{SCAN}batch_rows=…)",
    "exclude": f"{SCAN}exclude=…)",
    "client": "executor=client",
    "workers": f"{EXECUTOR}Processes(n)",
    "scheduler": "executor='tcp://…'",
    "threads": f"{EXECUTOR}Threads(n)",
    "memory_limit": f"{EXECUTOR}Threads(memory_limit=…)",
    "scratch": f"{EXECUTOR}Threads(scratch=…)",
    "progress": "dm.options(progress=True)",
    "on_change": "state=dm.State(path, on_change=…)",
    "checkpoint_seconds": "state=dm.State(path, checkpoint_seconds=…)",
    "n_pairs": "pairs=dm.SampledPairs(n)",
    "pair_budget": "pairs=dm.CompletePairs(budget=…)",
    "n_permutations": "test=dm.Permutations(n)",
    "test_rows": "test=dm.Permutations(rows=…)",
    "distance": "match=dm.Match(distance=…)",
    "beta_r": "match=dm.Match(beta_r=…)",
    "loss_parameter": "loss=dm.Loss(name, parameter)",
    "seed": "rng=…",
    "random_state": "rng=…",
    "random_seed": "rng=…",
    "confidence": "confidence_level=…",
    "level": "confidence_level=…",
    "alpha": "confidence_level=1 - alpha",
    "delta": "confidence_level=1 - delta",
    "data_path": "data, the first argument",
    "path": "data, the first argument",
    "paths": "data, the first argument",
    "columns": "column=…",
    "column": "columns=…",
    "group_by": "by=…",
    "groupby": "by=…",
    "filter": "where=…",
    "filters": "where=…",
    "n_jobs": f"{EXECUTOR}Threads(n)",
    "weight": "weights=…",
    "contaminated": "contamination=…",
}
"""Keywords of other packages and of earlier versions, and their present equivalents."""

OWN_PLACES: dict[tuple[str, str], str] = {
    ("difference", "block_by"): "unit=…",
    ("compare", "bandwidth"): "statistics=dm.kernels.mmd(bandwidth)",
    ("compare", "pair_budget"): "that of dm.CompletePairs(), always; for another use dm.ustatistic",
}
"""The same, for functions with their own equivalents."""


def bound(owner: str, call: Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> BoundArguments:
    """The arguments bound to the signature.

    Raise TypeError for the first unknown keyword, and for missing or surplus arguments.
    """
    if not any(one.kind is Parameter.VAR_KEYWORD for one in call.parameters.values()):
        refuse_unknown(owner, kwargs, call.parameters)
    try:
        return call.bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{owner.rpartition('.')[2]}(): {error}; see help(dm.{owner})") from None


def refuse_unknown(owner: str, given: Collection[str], parameters: Collection[str]) -> None:
    """Raise TypeError for the first keyword that is not a parameter."""
    for name in given:
        if name not in parameters:
            raise wrong_keyword(owner, name, parameters)


def answering(public: Any, place: str = "") -> Any:
    """Wrap a public function or class, under its public name, so that wrong calls explain the right one.

    A class is changed in place, so that its objects keep their type; a wrapped function replaces the original
    in its own module, where pickle looks for it.
    """
    owner = place + getattr(public, "__name__", "")
    if isinstance(public, type):
        init: Any = getattr(public, "__init__")  # noqa: B009  # of the class, not of an object
        if init is not object.__init__ and not hasattr(init, "answers"):
            setattr(public, "__init__", _checked(owner, init, skip=1))  # noqa: B010
        return public
    if not isinstance(public, FunctionType) or hasattr(public, "answers"):
        return public
    name: str = public.__name__
    made, home = _checked(owner, public, skip=0), sys.modules[public.__module__]
    if getattr(home, name, None) is public:
        setattr(home, name, made)
    return made


def _checked(owner: str, function: Callable[..., Any], skip: int) -> Callable[..., Any]:
    """The function with its arguments checked first; the first `skip` of them are the object itself."""
    whole = signature(function)
    call = whole.replace(parameters=list(whole.parameters.values())[skip:])

    @wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        bound(owner, call, args[skip:], kwargs)
        return function(*args, **kwargs)

    checked.answers = True  # type: ignore[attr-defined]
    return checked


def wrong_keyword(owner: str, name: str, parameters: Collection[str]) -> TypeError:
    """The error for an unknown keyword: its present equivalent, or the nearest name."""
    own, place = OWN_PLACES.get((owner, name)), PLACES.get(name, "")
    head, place = re.split("[=,(]", place)[0], own or place
    if own or head in parameters or head.startswith("dm."):
        return TypeError(f"{name}: now {place}; see help(dm.{owner})")
    hint = did_you_mean(name, parameters)
    return TypeError(f"{owner.rpartition('.')[2]}() has no parameter {name!r}{hint}; see help(dm.{owner})")
