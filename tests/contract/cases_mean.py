"""Robust means: every way to form blocks, every kind of column, states, streams and data in memory."""

from __future__ import annotations

import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

import distmom as dm
from tests.contract.lakes import N_ROWS, columns, scattered, table
from tests.contract.ways import Way
from tests.flat import flat

Case = Callable[[Way], Any]
SEED = 7
DAMAGED = ("bad file", "scattered", "infinite", "sorted")


def lakes_of(name: str, *, always: bool = False) -> tuple[str, ...]:
    """The clean lake, and for every other case a damaged one: whatever other cases there are."""
    number = zlib.crc32(name.encode())
    return ("clean", DAMAGED[number // 2 % len(DAMAGED)]) if always or number % 2 else ("clean",)


VARIANTS: dict[str, dict[str, Any]] = {
    "auto": {},
    "two columns": {"column": ["x", "y"]},
    "grouped": {"by": "key"},
    "two keys and a filter": {"by": ["group", "key"], "where": "u > 0.3"},
    "key of folders": {"by": "part", "column": "y"},
    "filter of texts": {"where": "key == 'a' and n in (1, 2, 3, 4, 5)"},
    "filter of nulls": {"where": "key is null or u < 0.5"},
    "expression": {"where": pc.field("u") > 0.5},
    "whole numbers": {"column": ["n", "unit"]},
    "single precision": {"column": "single"},
    "NaN kept": {"nan": "keep", "n_blocks": 301},
    "seven blocks": {"n_blocks": 7},
    "eight blocks": {"n_blocks": 8, "column": "y"},
    "seven blocks, grouped": {"n_blocks": 7, "by": "key"},
    "paper's blocks": {"n_blocks": "paper"},
    "paper's blocks and interval": {"n_blocks": "paper", "interval": "closed-form", "confidence_level": 0.9},
    "block size": {"block_size": 50},
    "block size, grouped": {"block_size": 30, "by": "group", "column": ["x", "y"]},
    "many fine blocks": {"fine": "many"},
    "many fine blocks, grouped": {"fine": "many", "by": "group"},
    "order interval": {"interval": "order", "confidence_level": 0.95},
    "exact interval": {"interval": "cantelli", "confidence_level": 0.95},
    "no interval": {"interval": "none"},
    "exact interval of 21 blocks": {"interval": "cantelli", "n_blocks": 21},
    "order interval of 22 blocks": {"interval": "order", "n_blocks": 22, "column": "y"},
    "stored": {"order": "stored"},
    "stored, eleven blocks": {"order": "stored", "n_blocks": 11, "column": ["x", "y"]},
    "stored, grouped": {"order": "stored", "by": "key"},
    "stored, filtered": {"order": "stored", "where": "u > 0.2", "block_size": 40},
    "chunks": {"chunk_rows": 7},
    "chunks, grouped": {"chunk_rows": 20, "by": "group", "n_blocks": 3},
    "chunks, filtered": {"chunk_rows": 13, "where": "u > 0.1", "column": "y"},
    "without replacement": {"scheme": "swor", "n_blocks": 7, "block_size": 90},
    "without replacement, large": {"scheme": "swor", "n_blocks": 3, "block_size": 700, "column": "y"},
    "without replacement, grouped": {"scheme": "swor", "n_blocks": 7, "block_size": 40, "by": "group"},
    "without replacement, filtered": {"scheme": "swor", "n_blocks": 8, "block_size": 60, "where": "u > 0.3"},
    "without replacement, by tau": {"scheme": "swor", "tau": 0.3, "column": "y"},
    "without replacement, paper": {"scheme": "swor", "interval": "closed-form", "confidence_level": 0.9},
    "with replacement": {"scheme": "monte_carlo", "n_blocks": 7, "block_size": 90},
    "with replacement, large": {"scheme": "monte_carlo", "n_blocks": 3, "block_size": 2_000, "column": "y"},
    "with replacement, grouped": {"scheme": "monte_carlo", "n_blocks": 7, "block_size": 40, "by": "group"},
    "with replacement, filtered": {
        "scheme": "monte_carlo",
        "n_blocks": 7,
        "block_size": 90,
        "where": "u > 0.3",
    },
    "with replacement, by tau": {"scheme": "monte_carlo", "tau": 0.3, "column": "y"},
    "units": {"block_by": "unit"},
    "units, 45 blocks, filtered": {"block_by": "unit", "n_blocks": 45, "where": "u > 0.3"},
    "units of two columns": {"block_by": ["key", "day"], "column": "y"},
    "units, grouped": {"block_by": "unit", "by": ["group", "part"], "column": ["x", "y"]},
    "units, contaminated": {"block_by": "unit", "contamination": 2},
    "files": {"block_by": "file"},
    "files, grouped": {"block_by": "file", "by": "group", "n_blocks": 3},
    "files, contaminated": {"block_by": "file", "contamination": 1, "column": "y"},
    "files, contaminated in part": {"block_by": "file", "contamination": 0.1, "column": "y"},
    "repeated": {"repeats": 3},
    "repeated, grouped": {"repeats": 3, "by": "group", "where": "u > 0.1"},
    "repeated, seven blocks": {"repeats": 2, "n_blocks": 7, "column": ["x", "y"]},
    "repeated, exact": {"repeats": 5, "interval": "cantelli", "confidence_level": 0.9},
    "contaminated": {"contamination": 3},
    "contaminated in part": {"contamination": 0.01, "where": "u > 0.3"},
    "contaminated, 61 blocks": {"contamination": 12, "n_blocks": 61},
    "contaminated, grouped, repeated": {"contamination": 2, "by": "group", "repeats": 2},
    "contaminated, stored": {"contamination": 3, "order": "stored"},
    "contaminated, chunks": {"contamination": 3, "chunk_rows": 5, "column": "y"},
    "weights": {"weights": "w"},
    "weights, two columns, grouped": {
        "weights": "w",
        "column": ["x", "y"],
        "by": "group",
        "where": "u > 0.1",
    },
    "weights, NaN kept": {"weights": "w", "n_blocks": 301, "nan": "keep"},
    "weights, stored": {"weights": "u", "order": "stored"},
    "weights, chunks": {"weights": "w", "chunk_rows": 7, "by": "group", "n_blocks": 3},
    "weights, units": {"weights": "w", "block_by": "unit", "n_blocks": 45},
    "weights, files": {"weights": "w", "block_by": "file", "contamination": 1},
    "weights, contaminated, many": {"weights": "w", "contamination": 4, "fine": "many"},
    "vectors": {"column": ["x", "y"], "joint": True},
    "vectors, grouped": {"column": ["x", "y"], "joint": True, "by": "key"},
    "vectors by coordinates": {"column": ["y", "z", "u"], "joint": "coordinatewise"},
    "vectors by coordinates, stored": {"column": ["x", "y"], "joint": "coordinatewise", "order": "stored"},
    "vectors, samples": {"column": ["y", "u"], "joint": True, "scheme": "swor", "tau": 0.3},
    "vectors, samples with replacement": {
        "column": ["y", "u"],
        "joint": True,
        "scheme": "monte_carlo",
        "tau": 0.3,
    },
    "vectors, weights": {"column": ["x", "y"], "joint": True, "weights": "w"},
    "vectors, repeated": {"column": ["x", "y"], "joint": True, "repeats": 2},
    "vectors, units": {"column": ["x", "y"], "joint": True, "block_by": "unit"},
    "vectors, files, contaminated": {
        "column": ["y", "z"],
        "joint": True,
        "block_by": "file",
        "contamination": 1,
    },
    "vectors, order interval": {"column": ["y", "z"], "joint": "coordinatewise", "interval": "order"},
    "lists": {"column": "vector", "joint": True},
    "lists by coordinates, grouped": {"column": "vector", "joint": "coordinatewise", "by": "group"},
    "lists and a number": {"column": ["vector", "x"], "joint": True, "n_blocks": 9},
    "lists, weights": {"column": "vector", "joint": True, "weights": "w", "n_blocks": 15},
    "dates": {"column": "day"},
    "timestamps": {"column": "time"},
    "durations": {"column": "took"},
    "times, grouped": {"column": ["time", "took"], "by": "group", "n_blocks": 5},
    "times, stored": {"column": ["time", "day"], "order": "stored"},
    "times, samples": {"column": "time", "scheme": "swor", "n_blocks": 5, "block_size": 100},
    "durations, units, weights": {"column": "took", "block_by": "unit", "weights": "w"},
}


def of(lake: str, options: dict[str, Any]) -> Case:
    given = {"column": "x", "rng": SEED, **options}
    return lambda way: way.run(dm.mean, way.lakes[lake], **given)


CASES: dict[str, Case] = {}
for _name, _options in VARIANTS.items():
    for _lake in lakes_of(_name, always=True):
        CASES[f"mean/{_name}/{_lake}"] = of(_lake, _options)
for _lake in (*DAMAGED, "second"):
    CASES[f"mean/three columns/{_lake}"] = of(_lake, {"column": ["x", "y", "z"]})
    CASES[f"mean/many fine blocks, y/{_lake}"] = of(_lake, {"column": "y", "fine": "many"})
    CASES[f"mean/files, y/{_lake}"] = of(_lake, {"column": "y", "block_by": "file"})
for _seed in (0, 1, 2**40, 2**70):
    CASES[f"mean/seed {_seed}/scattered"] = of("scattered", {"rng": _seed, "column": "y"})
CASES["mean/a bad file is skipped/spoilt"] = of("spoilt", {"on_bad_file": "skip", "column": "y"})
CASES["mean/a missing column is null/spoilt"] = of(
    "spoilt", {"on_bad_file": "skip", "missing": "null", "column": "z"}
)
CASES["mean/a bad file is skipped by counts/spoilt"] = of(
    "spoilt", {"on_bad_file": "skip", "column": "y", "order": "stored"}
)


def copied(way: Way, name: str, numbers: range, lake: str = "clean") -> Path:
    """A lake of some of the files, to which others are added later."""
    target = way.scratch / name
    for path in sorted(way.lakes[lake].rglob("*.parquet")):
        if int(path.stem) in numbers:
            (target / path.parent.name).mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target / path.parent.name)
    return target


def two_runs(column: Any = "x", **options: Any) -> Case:
    """With a state: of eight files, then of all twelve; both answers."""

    def case(way: Way) -> Any:
        given = {"rng": SEED, "state": way.scratch / "state", **options}
        first = way.run(dm.mean, copied(way, "lake", range(8)), column, **given)
        return first, way.run(dm.mean, copied(way, "lake", range(8, 12)), column, **given)

    return case


def merged(column: Any = "x", answer: dict[str, Any] | None = None, **options: Any) -> Case:
    """States of two folders, and the merged one."""

    def case(way: Way) -> Any:
        states = []
        for name, numbers in (("north", range(6)), ("south", range(6, 12))):
            states.append(way.scratch / f"{name}.state")
            folder = copied(way, name, numbers, "scattered")
            way.run(dm.mean, folder, column, rng=SEED, state=states[-1], **options)
        found = dm.merge_states(*states, output=way.scratch / "both.state", **(answer or {}))
        again = dm.merge_states(way.scratch / "both.state", **(answer or {}))
        return found, again

    return case


def restarted(way: Way) -> Any:
    """A file has changed since: the state begins anew."""
    folder = copied(way, "lake", range(8))
    given = {"rng": SEED, "state": way.scratch / "state"}
    first = way.run(dm.mean, folder, "y", **given)
    shutil.copy2(way.lakes["scattered"] / "part=1" / "05.parquet", folder / "part=1" / "05.parquet")
    return first, way.run(dm.mean, folder, "y", on_change="restart", **given)


CASES |= {
    "mean/state/auto": two_runs(),
    "mean/state/grouped": two_runs(by="key", where="u > 0.1"),
    "mean/state/units": two_runs("y", block_by="unit"),
    "mean/state/files": two_runs("y", block_by="file"),
    "mean/state/weights": two_runs(["x", "y"], weights="w"),
    "mean/state/vectors": two_runs(["x", "y"], joint=True),
    "mean/state/times": two_runs(["time", "took"]),
    "mean/state/repeated, seven blocks": two_runs(repeats=2, n_blocks=7),
    "mean/state/chunks": two_runs(chunk_rows=5, n_blocks=9),
    "mean/state/many fine blocks": two_runs(fine="many"),
    "mean/state/restarted": restarted,
}


def streamed(column: Any, name: str, least: int, **options: Any) -> Case:
    """An accumulator that takes a table in pieces of at least so many rows."""

    def case(way: Way) -> Any:
        stream = flat(dm.MeanAccumulator)(column, rng=SEED, name=name, **options)
        rows = table(N_ROWS, 3, scattered)
        size = max(least, min(way.batch_rows or 400, 2_000))
        for start in range(0, N_ROWS, size):
            stream.update(rows.slice(start, size))
        again = dm.MeanAccumulator.from_bytes(stream.to_bytes())
        other = flat(dm.MeanAccumulator)(column, rng=SEED, name="other", **options)
        other.update(table(300, 4))
        again.merge(other)
        return stream.result(), again.result()

    return case


CASES |= {
    "mean/stream/auto": streamed("x", "", 50),
    "mean/stream/grouped": streamed("x", "s", 50, by="key", where="u > 0.1"),
    "mean/stream/weights": streamed(["x", "y"], "s", 50, weights="w"),
    "mean/stream/vectors": streamed("vector", "s", 50, joint=True),
    "mean/stream/units": streamed("y", "s", 50, block_by="unit"),
    "mean/stream/times": streamed("time", "s", 1100),
    "mean/stream/repeated": streamed("x", "s", 50, repeats=2),
}


def in_memory(make: Callable[[Way], Any], column: Any = "x", **options: Any) -> Case:
    """Data that is no path."""
    return lambda way: way.run(dm.mean, make(way), column, rng=SEED, **options)


def arrays(way: Way) -> Any:
    return {name: value for name, value in columns(700, 5).items() if name in ("x", "y", "key", "u", "w")}


CASES |= {
    "mean/memory/mapping": in_memory(arrays, by="key"),
    "mean/memory/array": in_memory(lambda way: columns(700, 5)["x"], None),
    "mean/memory/matrix": in_memory(lambda way: np.stack([columns(700, 5)[n] for n in "xyz"], axis=1), None),
    "mean/memory/table": in_memory(lambda way: table(900, 6), ["x", "y"], where="u > 0.2", n_blocks=9),
    "mean/memory/reader": in_memory(lambda way: table(900, 6).to_reader(max_chunksize=70), "y", chunk_rows=4),
    "mean/memory/dataset": in_memory(lambda way: ds.dataset(way.lakes["clean"], partitioning="hive"), "y"),
    "mean/memory/samples": in_memory(arrays, scheme="swor", n_blocks=7, block_size=60),
    "mean/files/list": in_memory(
        lambda way: sorted(map(str, way.lakes["second"].rglob("*.parquet")))[:5], "y"
    ),
    "mean/files/glob": in_memory(lambda way: f"{way.lakes['second']}/part=1/*.parquet", "y"),
    "mean/files/one": in_memory(lambda way: way.lakes["second"] / "part=1" / "03.parquet", "y", n_blocks=5),
    "mean/few rows": in_memory(lambda way: {"x": columns(6, 5)["y"]}),
    "mean/one value": in_memory(lambda way: {"x": np.full(500, 2.5)}),
    "mean/one row": in_memory(lambda way: {"x": np.array([3.25])}),
    "mean/half are infinite": in_memory(lambda way: {"x": np.where(np.arange(400) % 2 == 0, np.inf, 1.0)}),
    "mean/written": lambda way: written(way),
}


def written(way: Way) -> Any:
    """The table of results."""
    found = way.run(dm.mean, way.lakes["scattered"], ["x", "y"], by="key", rng=SEED)
    dm.write_results(found, way.scratch / "results.parquet")
    kept = pq.read_table(way.scratch / "results.parquet")
    names = [
        n
        for n in ("group", "key", "column", "estimate", "plain_estimate", "n_used")
        if n in kept.column_names
    ]
    return {name: kept[name].to_pylist() for name in names}
