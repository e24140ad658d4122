"""Names of keys in messages: a configuration has no Python objects."""

from __future__ import annotations

import json

from distmom.jobs.config import Config
from distmom.jobs.keys import Tables
from distmom.jobs.objects import DESIGNS, PAIRS, fields_of
from distmom.words import Wording

OWN = {
    "Permutations": {"n": "n_permutations", "rows": "test_rows"},
    "Loss": {"name": "loss", "parameter": "loss_parameter"},
    "Match": {"distance": "distance", "beta_r": "beta_r"},
    "match": {"distance": "distance"},
    "Threads": {"n": "threads"},
    "Processes": {"n": "workers"},
}
"""Parameters of the job's own table, or of its executor, that become objects."""

PHRASES = {
    "blocks=…": "blocks",
    "n or size": "blocks.n or blocks.size",
    "--block-by file (blocks=FileBlocks())": 'blocks.design = "files"',  # as both others say it
    "State(path, on_change='restart')": 'run.on_change = "restart"',
}


def keys_of(config: Config, tables: Tables | None = None) -> Wording:
    """The wording for a configuration: its keys, and the allowed keys of its tables, replace parameters."""
    names = {
        key.name or word: f"{table}.{word}"
        for table, keys in (tables or {}).items()
        if table not in ("blocks", "pairs", "output")
        for word, key in keys.items()
        if not key.refused
    } | {
        name: f"{table}.{key}"
        for (table, name), (_, key) in config.origins.items()
        if table not in ("blocks", "pairs")
    }
    kinds = {"Processes": "run.workers", "Threads": "run.threads"}
    fields: dict[str, dict[str, str]] = {}
    for table, word, objects in (("blocks", "design", DESIGNS), ("pairs", "kind", PAIRS)):
        fields[table] = {}
        for kind, made in objects.items():
            kinds[made.__name__] = f'{table}.{word} = "{kind}"'
            fields[made.__name__] = {key: f"{table}.{key}" for key in fields_of(made)}
            fields[table] |= fields[made.__name__]
    for kind, own in OWN.items():
        fields[kind] = {name: names[parameter] for name, parameter in own.items() if parameter in names}
    given = [f"blocks.{key}" for key in ("n", "size", "design") if ("blocks", key) in config.origins]
    names["blocks"] = given[0] if given else "blocks"
    heads = {"RandomBlocks": "", "CompletePairs": ""}
    whole = f'{names["unit"]} = "file"' if "unit" in names else 'blocks.design = "files"'
    phrases = PHRASES | {"FileBlocks() or unit='file'": whole}
    return Wording(kinds, heads, fields, names, "{} = {}", json.dumps, ", ", phrases)
