"""From the flat flags of a command to the objects of the Python call: the one place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from distmom.errors import ConfigError

if TYPE_CHECKING:
    from distmom.designs.design import BlockDesign
    from distmom.designs.pairs import PairDesign

SCAN = ("exclude", "nan", "missing", "on_bad_file", "storage_options", "batch_rows")
BLOCKS = ("n_blocks", "block_size", "block_by", "order", "chunk_rows", "repeats", "fine", "scheme", "tau")
PAIRS = ("pairs", "n_pairs", "pair_budget")
PLACE = ("workers", "threads", "scheduler", "memory_limit", "scratch")
STATE = ("state", "on_change")
LISTS = ("column", "columns", "by", "unit", "features", "candidates", "statistics", "samples", "where")

FLAGS = {
    "n_blocks": "--blocks",
    "n_pairs": "--pair-count",
}


def arguments(flags: dict[str, Any], data: tuple[str, ...], n_samples: int = 1) -> dict[str, Any]:
    """Arguments of the function behind a command, `data` among them.

    Of the flags None and empty tuples were not given. If there are as many `data` as samples, each is one by
    itself. ConfigError if two flags exclude each other.
    """
    from distmom.jobs.objects import own

    given = {k: v for k, v in flags.items() if v is not None and v != ()}
    found = own({k: v for k, v in given.items() if k not in (*SCAN, *BLOCKS, *PAIRS, *PLACE, *STATE)})
    for name in LISTS:
        if isinstance(found.get(name), tuple):
            found[name] = (
                found[name][0] if len(found[name]) == 1 and name != "candidates" else list(found[name])
            )
    if found.get("rng") == "random":
        found["rng"] = None
    each = len(data) == n_samples > 1
    found["data"] = [_scan(given, (one,)) for one in data] if each else _scan(given, data)
    if any(name in flags for name in BLOCKS):
        found["blocks"] = samples(given) if given.get("pairs") == "sampled" else design(given)
    if "pairs" in flags:
        found["pairs"] = _pairs(given)
    if "state" in flags:
        found["state"] = _state(given)
    found["executor"] = place(given)
    return {k: v for k, v in found.items() if v is not None or k == "rng"}


def _scan(given: dict[str, Any], data: tuple[str, ...]) -> Any:
    """The data itself where nothing is said of how it is read, else a scan."""
    from distmom.passes.scan import scan

    defaults = {"nan": "omit", "missing": "error", "on_bad_file": "error"}
    said = {k: v for k, v in given.items() if k in SCAN and v != defaults.get(k)}
    pairs = said.pop("storage_options", ())
    if len(dict(pairs)) < len(pairs):
        raise ConfigError("--storage-option: a key is given twice; give each once")
    if pairs:
        said["storage_options"] = dict(pairs)
    if "exclude" in said:
        said["exclude"] = list(said["exclude"])
    what: Any = data[0] if len(data) == 1 else list(data)
    return scan(what, **said) if said else what


def design(given: dict[str, Any]) -> BlockDesign | int | str | None:
    """The block design that flags mean; None where none was given.

    ConfigError if two of them exclude each other.
    """
    from distmom.designs import blocks as d

    n, size = given.get("n_blocks"), given.get("block_size")
    units = tuple(given.get("block_by", ()))
    if given.get("scheme", "partition") != "partition":
        _refuse(given, "--scheme " + given["scheme"], ("block_by", "order", "chunk_rows", "repeats", "fine"))
        own = None if n in ("auto", "paper") else n  # samples have the number of the proposition
        return d.SampledBlocks(own, size, given.get("tau"), given["scheme"] == "monte_carlo")
    _refuse(given, "--scheme partition", ("tau",))
    number: Any = "auto" if n is None else n
    if given.get("order") == "stored":
        _refuse(given, "--order stored", ("block_by", "chunk_rows", "repeats", "fine"))
        return d.StoredBlocks(number, size)
    if units:
        _refuse(given, "--block-by", ("chunk_rows", "repeats", "fine"))
        return d.FileBlocks(number, size) if units == ("file",) else d.UnitBlocks(units, number, size)
    more = {k: given[k] for k in ("chunk_rows", "repeats", "fine") if k in given}
    if size is None and not more:
        return n
    return d.RandomBlocks(number, size, **more)


def samples(given: dict[str, Any]) -> BlockDesign | int | str | None:
    """How many samples of pairs there are.

    ConfigError if more is said of blocks.
    """
    from distmom.designs.blocks import SampledBlocks

    others = ("block_size", "block_by", "order", "chunk_rows", "repeats", "fine")
    _refuse(given, "--pairs sampled", others)
    n = given.get("n_blocks")
    return n if "tau" not in given else SampledBlocks(n, tau=given["tau"])


def _refuse(given: dict[str, Any], chooser: str, others: tuple[str, ...]) -> None:
    """ConfigError if a flag was given that means nothing beside another one."""
    for name in others:
        if name in given and given[name] not in ("random", "standard", 1):
            flag = FLAGS.get(name, "--" + name.replace("_", "-"))
            raise ConfigError(f"{flag} does not go with {chooser}; drop one of them")


def _pairs(given: dict[str, Any]) -> PairDesign | str | None:
    from distmom.designs import pairs as d

    kind, n, budget = given["pairs"], given.get("n_pairs"), given.get("pair_budget")
    if kind == "sampled":
        return d.SampledPairs(n, given.get("scheme") == "monte_carlo", budget=budget)
    if n is not None:
        raise ConfigError(f"--pair-count does not go with --pairs {kind}; use --pairs sampled")
    if kind == "disjoint":
        if budget is not None:
            raise ConfigError("--pair-budget does not go with --pairs disjoint; drop it")
        return "disjoint"
    return None if budget is None else d.CompletePairs(budget)


def _state(given: dict[str, Any]) -> Any:
    path, on_change = given.get("state"), given.get("on_change")
    if on_change is None:
        return path
    if path is None:
        raise ConfigError("--on-change: says what becomes of a state; give --state too, or drop it")
    from distmom.state.state import State

    return State(path, on_change)


def place(given: dict[str, Any]) -> Any:
    """Where the call runs; None for the default place.

    ConfigError if two places are named.
    """
    from distmom.cluster.executors import backends as p

    named = [name for name in ("workers", "scheduler", "threads") if given.get(name) is not None]
    if len(named) > 1:
        flags = " and ".join(f"--{name}" for name in named)
        raise ConfigError(f"{flags} exclude each other; give one of them")
    limits = (given.get("memory_limit"), given.get("scratch"))
    if not named:
        return None if limits == (None, None) else p.Threads(None, *limits)
    kind: Any = {"workers": p.Processes, "scheduler": p.Cluster, "threads": p.Threads}[named[0]]
    return kind(given[named[0]], *limits)
