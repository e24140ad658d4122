"""The single place that converts words from tables and flags to the objects of a call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import distmom as dm
from distmom.errors import ConfigError
from distmom.jobs.keys import STATE

SEED = 0
SCAN = {
    "exclude": None,
    "nan": "omit",
    "missing": "error",
    "on_bad_file": "error",
    "storage_options": None,
    "batch_rows": None,
}
"""Options for reading data, and their defaults."""

PLACES = {"workers": dm.Processes, "threads": dm.Threads, "scheduler": dm.Cluster}
LIMITS = ("memory_limit", "scratch")

DESIGNS: dict[str, type] = {
    "random": dm.RandomBlocks,
    "stored": dm.StoredBlocks,
    "units": dm.UnitBlocks,
    "files": dm.FileBlocks,
    "sampled": dm.SampledBlocks,
}
"""Values of ``blocks.design``; the keys of each are its fields."""

PAIRS: dict[str, type] = {
    "complete": dm.CompletePairs,
    "sampled": dm.SampledPairs,
    "disjoint": dm.DisjointPairs,
}


def call_of(
    tables: Mapping[str, dict[str, Any]], as_one: tuple[str, ...] = (), n_samples: int = 1
) -> dict[str, Any]:
    """The arguments corresponding to tables of words.

    The default seed is 0. Tables in `as_one` become one argument each, rather than one argument per key; if
    there are as many paths as samples, each path is one sample. ConfigError if two words cannot be combined,
    or a value is out of range.
    """
    call: dict[str, Any] = {}
    for name, given in tables.items():
        if name == "data":
            call |= scan_of(given, n_samples)
        elif name == "blocks" and given:
            call["blocks"] = made("blocks", DESIGNS, "design", given) if given.keys() != {"n"} else given["n"]
        elif name == "pairs" and given:
            call["pairs"] = made("pairs", PAIRS, "kind", given)
        elif name == "run":
            call |= run_of(given)
        elif name not in ("blocks", "pairs", "output"):
            call |= {name: given} if name in as_one else own(given)
    return call


def scan_of(given: dict[str, Any], n_samples: int = 1) -> dict[str, Any]:
    """The data and its condition; a scan if other options for reading are given."""
    data: Any = given["data"]
    if isinstance(data, list) and len(data) == 1:
        [data] = data
    said = {key: given[key] for key, default in SCAN.items() if given.get(key, default) != default}
    if said:
        each = isinstance(data, list) and len(data) == n_samples
        data = [dm.scan(one, **said) for one in data] if each else dm.scan(data, **said)
    return {"data": data} | ({"where": given["where"]} if "where" in given else {})


def made(table: str, kinds: Mapping[str, type], key: str, given: Mapping[str, Any]) -> Any:
    """The object described by a table; one key gives the kind, by default the first."""
    kind = kinds[given.get(key, next(iter(kinds)))]
    words = {name: value for name, value in given.items() if name != key}
    known = fields_of(kind)
    for name in words:
        if name not in known:
            fit = " or ".join(one.__name__ for one in kinds.values() if name in fields_of(one))
            raise ConfigError(
                f"{table}: {name} cannot be combined with {kind.__name__}: drop it, or use {fit}"
            )
    return kind(**words)


def fields_of(kind: type) -> tuple[str, ...]:
    """The fields of a design."""
    return tuple(field.name for field in fields(kind))


def run_of(given: dict[str, Any]) -> dict[str, Any]:
    """Arguments for seed, state and executor."""
    call: dict[str, Any] = {"rng": None if given.get("rng") == "random" else given.get("rng", SEED)}
    kept = {"path" if name == "state" else name: given[name] for name in STATE if name in given}
    if "path" in kept:
        call["state"] = dm.State(**kept)
    elif kept:
        raise ConfigError(f"{next(iter(kept))}: needs a state, and there is none; drop it")
    named = [name for name in PLACES if name in given]
    if len(named) > 1:
        raise ConfigError(f"{named[0]} cannot be combined with {named[1]}: say where to run once")
    limits = {name: given[name] for name in LIMITS if name in given}
    if named:
        call["executor"] = PLACES[named[0]](given[named[0]], **limits)
    elif limits:
        call["executor"] = dm.Threads(**limits)
    return call


def own(given: dict[str, Any]) -> dict[str, Any]:
    """Keys of a job's own table, or a command's own flags; some of them form an object together."""
    call = dict(given)
    test = {
        new: call.pop(old) for old, new in (("n_permutations", "n"), ("test_rows", "rows")) if old in call
    }
    if test:
        call["test"] = dm.Permutations(**test)
    if "bandwidth" in call:
        call["statistics"] = _with_bandwidth(call.get("statistics", ()), call.pop("bandwidth"))
    if "parameters" in call:
        call["kernel"] = dm.kernels.named(call["kernel"], **call.pop("parameters"))
    if "kernel" in call and "samples" in call:
        call["by"] = {_column_of(call.get("by")): call.pop("samples")}
    match = {key: call.pop(key) for key in ("distance", "beta_r") if key in call}
    if match:
        call["match"] = dm.Match(**match)
    if "loss_parameter" in call:
        call["loss"] = dm.Loss(call.get("loss", "squared"), call.pop("loss_parameter"))
    return call


def _column_of(by: str | Sequence[str] | None) -> str:
    """The one column whose values define samples."""
    names = [by] if isinstance(by, str) else list(by or ())
    if len(names) != 1:
        raise ConfigError("samples: are values of one column; name that in by, and no other")
    return names[0]


def _with_bandwidth(statistics: str | Sequence[str], bandwidth: float) -> list[Any]:
    """The statistics, with this bandwidth for discrepancies."""
    kinds: dict[str, Any] = {"mmd": "rbf", "mmd-laplace": "laplace"}
    names = [statistics] if isinstance(statistics, str) else list(statistics)
    if not kinds.keys() & set(names):
        raise ConfigError("bandwidth: belongs to the statistic mmd; drop it, or add mmd")
    return [dm.kernels.mmd(bandwidth, kinds[name]) if name in kinds else name for name in names]
