"""Calls whose options come from tables: flat words, as on the command line, become objects."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from inspect import signature
from typing import Any

import distmom as dm
from distmom.cluster.executors.backends import Anywhere

SCAN = ("exclude", "nan", "missing", "on_bad_file", "storage_options", "batch_rows")
SAMPLED = ("n_blocks", "block_size", "tau")
PLACES = {"workers": dm.Processes, "threads": dm.Threads, "scheduler": dm.Cluster, "client": dm.Cluster}


def flat(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, taking flat words where it takes objects."""

    own = signature(function).parameters

    def call(*args: Any, **words: Any) -> Any:
        given = objects(words)
        if "data" not in own:  # an accumulator, which reads nothing by itself
            return function(*args, **words, **given)
        data = args[0] if args else words.pop("data")
        scan = {k: words.pop(k) for k in SCAN if k in words}
        progress = words.pop("progress", None)
        if scan:
            several = isinstance(data, (list, tuple)) and not all(isinstance(one, str) for one in data)
            data = [dm.scan(one, **scan) for one in data] if several else dm.scan(data, **scan)
        with nullcontext() if progress is None else dm.options(progress=progress):
            return function(data, *args[1:], **words, **given)

    return call


def explained(function: Callable[..., Any]) -> Callable[..., Any]:
    """The plan of a call with flat words."""

    def plan(data: Any, *args: Any, **kwargs: Any) -> Any:
        return dm.explain(function, data, *args, **kwargs)

    return flat(plan)


def objects(words: dict[str, Any]) -> dict[str, Any]:
    """Objects for the words that have one, which are taken out."""
    found: dict[str, Any] = {}
    drawn = words.get("pairs") == "sampled"
    replace = words.get("scheme") == "monte_carlo"
    if drawn:
        found["pairs"] = dm.SampledPairs(
            words.pop("n_pairs", None), replace, budget=words.pop("pair_budget", None)
        )
        words.pop("pairs")
    elif "pair_budget" in words:
        found["pairs"] = dm.CompletePairs(words.pop("pair_budget"))
    blocks = design(words)
    if blocks is not None:
        found["blocks"] = blocks
    named = [name for name in PLACES if words.get(name) is not None]
    limits = {k: words.pop(k) for k in ("memory_limit", "scratch") if k in words}
    values = {name: words.pop(name, None) for name in PLACES}
    if named:
        found["executor"] = PLACES[named[0]](values[named[0]], **limits)
    elif limits:
        found["executor"] = Anywhere(**limits)
    if "on_change" in words:
        found["state"] = dm.State(words.pop("state"), words.pop("on_change"))
    if "n_permutations" in words or "test_rows" in words:
        test = {"n": words.pop("n_permutations", 9_999), "rows": words.pop("test_rows", 10_000)}
        found["test"] = dm.Permutations(**test)
    if "distance" in words or "beta_r" in words:
        found["match"] = dm.Match(words.pop("distance", "auto"), words.pop("beta_r", None))
    if words.get("loss_parameter") is not None:
        found["loss"] = dm.Loss(words.pop("loss"), words.pop("loss_parameter"))
    return found


def design(words: dict[str, Any]) -> Any:
    """The block design that words mean, which are taken out; None without any."""
    n, size, tau = (words.pop(name, None) for name in SAMPLED)
    scheme, order, by = (words.pop(name, None) for name in ("scheme", "order", "block_by"))
    more = {k: words.pop(k) for k in ("chunk_rows", "repeats", "fine") if k in words}
    if scheme not in (None, "partition"):
        return dm.SampledBlocks(n if isinstance(n, int) else None, size, tau, scheme == "monte_carlo")
    number = "auto" if n is None else n
    if order == "stored":
        return dm.StoredBlocks(number, size)
    if by is not None:
        return dm.FileBlocks(number, size) if by == "file" else dm.UnitBlocks(by, number, size)
    if size is not None or more:
        return dm.RandomBlocks(number, size, **more)
    return n
