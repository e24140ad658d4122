"""From the tables of a configuration to the objects of the call: the one place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import distmom as dm
from distmom.errors import ConfigError
from distmom.jobs.config import Config

SEED = 0
SCAN = ("exclude", "nan", "missing", "on_bad_file", "storage_options", "batch_rows")
PLACES = {"workers": dm.Processes, "threads": dm.Threads, "scheduler": dm.Cluster}

DESIGNS: dict[str, tuple[type, tuple[str, ...]]] = {
    "random": (dm.RandomBlocks, ("n", "size", "chunk_rows", "repeats", "fine")),
    "stored": (dm.StoredBlocks, ("n", "size")),
    "units": (dm.UnitBlocks, ("columns", "n", "size")),
    "files": (dm.FileBlocks, ("n", "size")),
    "sampled": (dm.SampledBlocks, ("n", "size", "tau", "replace")),
}
"""What ``blocks.design`` may be, and the keys that belong to it."""

PAIRS: dict[str, tuple[type, tuple[str, ...]]] = {
    "complete": (dm.CompletePairs, ("budget",)),
    "sampled": (dm.SampledPairs, ("n", "replace", "budget")),
    "disjoint": (dm.DisjointPairs, ()),
}


def call_of(config: Config, as_one: tuple[str, ...] = (), n_samples: int = 1) -> dict[str, Any]:
    """The arguments that a configuration stands for.

    The seed is 0 where none is given, as on the command line. Tables in `as_one` are one argument each,
    rather than an argument for each key; if there are as many paths as samples, each is one by itself.
    ConfigError if two keys exclude each other, or a value is out of range.
    """
    call: dict[str, Any] = {}
    for name in config.values:
        given = config.table(name)
        if name == "data":
            call |= scan_of(given, n_samples)
        elif name == "blocks":
            call |= {"blocks": made("blocks", DESIGNS, "design", given, "random")} if given else {}
        elif name == "pairs":
            call |= {"pairs": made("pairs", PAIRS, "kind", given, "complete")} if given else {}
        elif name == "run":
            call |= run_of(given)
        elif name != "output":
            call |= {name: given} if name in as_one else own(given)
    return call


def scan_of(given: dict[str, Any], n_samples: int = 1) -> dict[str, Any]:
    """The data, and its condition: a scan where anything else is said of how it is read."""
    data: Any = given["data"]
    if isinstance(data, list) and len(data) == 1:
        [data] = data
    said = {key: given[key] for key in SCAN if key in given}
    if said:
        each = isinstance(data, list) and len(data) == n_samples
        data = [dm.scan(one, **said) for one in data] if each else dm.scan(data, **said)
    return {"data": data} | ({"where": given["where"]} if "where" in given else {})


def made(
    table: str,
    kinds: dict[str, tuple[type, tuple[str, ...]]],
    key: str,
    given: dict[str, Any],
    default: str,
) -> Any:
    """The object of a table of which one key says the kind."""
    kind = given.pop(key, default)
    make, keys = kinds[kind]
    for name in given:
        if name not in keys:
            raise ConfigError(f'{table}.{name}: does not go with {table}.{key} = "{kind}"; drop one of them')
    return make(**given)


def run_of(given: dict[str, Any]) -> dict[str, Any]:
    """Chance, state and place."""
    call: dict[str, Any] = {"rng": None if given.get("rng") == "random" else given.get("rng", SEED)}
    if "state" in given:
        words = {"on_change": given["on_change"]} if "on_change" in given else {}
        call["state"] = dm.State(given["state"], **words)
    elif "on_change" in given:
        raise ConfigError("run.on_change: says what becomes of a state; give state too, or drop it")
    if "checkpoint_seconds" in given:
        call["checkpoint_seconds"] = given["checkpoint_seconds"]
    named = [name for name in PLACES if name in given]
    if len(named) > 1:
        raise ConfigError(f"run.{named[0]}: does not go with run.{named[1]}; say where to run once")
    limits = {name: given[name] for name in ("memory_limit", "scratch") if name in given}
    if named:
        call["executor"] = PLACES[named[0]](given[named[0]], **limits)
    elif limits:
        call["executor"] = dm.Threads(**limits)
    return call


def own(given: dict[str, Any]) -> dict[str, Any]:
    """Keys of the job's own table, or flags of the command's own, of which some make an object together."""
    call = dict(given)
    test = {
        new: call.pop(old) for old, new in (("n_permutations", "n"), ("test_rows", "rows")) if old in call
    }
    if test:
        call["test"] = dm.Permutations(**test)
    if "bandwidth" in call:
        call["statistics"] = _with_bandwidth(call.get("statistics", ()), call.pop("bandwidth"))
    match = {key: call.pop(key) for key in ("distance", "beta_r") if key in call}
    if match:
        call["match"] = dm.Match(**match)
    if "loss_parameter" in call:
        call["loss"] = dm.Loss(call.get("loss", "squared"), call.pop("loss_parameter"))
    return call


def _with_bandwidth(statistics: str | Sequence[str], bandwidth: float) -> list[Any]:
    """The statistics, of which discrepancies have this bandwidth."""
    kinds: dict[str, Any] = {"mmd": "rbf", "mmd-laplace": "laplace"}
    names = [statistics] if isinstance(statistics, str) else list(statistics)
    if not kinds.keys() & set(names):
        raise ConfigError("bandwidth: is of the statistic mmd; drop it, or add that one")
    return [dm.kernels.mmd(bandwidth, kinds[name]) if name in kinds else name for name in names]
