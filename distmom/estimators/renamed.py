"""Keywords that are not, or no longer, parameters: what to write instead."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import wraps
from inspect import signature
from typing import ParamSpec

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
"""The keywords of other packages and of the past, and where their meaning lies now."""

OWN_PLACES: dict[tuple[str, str], str] = {
    ("difference", "block_by"): "unit=…",
    ("compare", "bandwidth"): "statistics=dm.kernels.mmd(bandwidth)",
    ("compare", "pair_budget"): "that of dm.CompletePairs(), always; for another use dm.ustatistic",
}
"""The same where one function has a place of its own."""


P = ParamSpec("P")


def refuse_unknown(function: str, given: Collection[str], parameters: Collection[str]) -> None:
    """TypeError for the first keyword that the function does not have."""
    for name in given:
        if name not in parameters:
            raise wrong_keyword(function, name, parameters)


def answering(init: Callable[P, None]) -> Callable[P, None]:
    """The ``__init__`` of a public class, which answers to names of the past."""
    owner, parameters = init.__qualname__.partition(".")[0], signature(init).parameters

    @wraps(init)
    def call(*args: P.args, **kwargs: P.kwargs) -> None:
        refuse_unknown(owner, kwargs, parameters)
        init(*args, **kwargs)

    return call


def wrong_keyword(function: str, name: str, parameters: Collection[str]) -> TypeError:
    """The error for a keyword that the function does not have: its place now, or the nearest name."""
    place = OWN_PLACES.get((function, name)) or PLACES.get(name)
    where = None if place is None else place.partition("=")[0]
    if place is not None and (where in parameters or not place[: len(where or "")].isidentifier()):
        return TypeError(f"{name}: now {place}; see help(dm.{function})")
    hint = did_you_mean(name, parameters)
    return TypeError(f"{function}() has no parameter {name!r}{hint}; see help(dm.{function})")
