"""What messages call the keys: objects of Python are unknown in a configuration."""

from __future__ import annotations

from distmom.errors import Words
from distmom.jobs.config import Config
from distmom.jobs.objects import DESIGNS, PAIRS

PLACES = {
    "blocks='auto'": 'blocks.n = "auto"',
    "blocks='paper'": 'blocks.n = "paper"',
    "blocks=…": "blocks",
    "RandomBlocks(fine='many')": 'blocks.fine = "many"',
    "RandomBlocks(repeats=5)": "blocks.repeats = 5",
    "SampledBlocks(replace=True)": "blocks.replace = true",
    "SampledBlocks(size=…)": "blocks.size",
    "SampledPairs(replace=True)": "pairs.replace = true",
    "State(path, on_change='restart')": 'run.on_change = "restart"',
    "Threads: n": "run.threads",
    "Processes: n": "run.workers",
}
"""What objects, and calls with them, are in a configuration; those of designs and pairs come beside them."""

OWN = {
    "Permutations: n": "n_permutations",
    "Permutations: rows": "test_rows",
    "Loss: parameter": "loss_parameter",
    "Match: distance": "distance",
    "match: distance": "distance",
    "Match: beta_r": "beta_r",
}
"""Parameters of the table of the job itself that make objects."""


def keys_of(config: Config) -> Words:
    """The words of a configuration: the keys that it has stand for parameters."""
    places = dict(PLACES)
    for table, word, kinds in (("blocks", "design", DESIGNS), ("pairs", "kind", PAIRS)):
        for kind, (made, fields) in kinds.items():
            places[made.__name__] = places[f"{table}={made.__name__}"] = f'{table}.{word} = "{kind}"'
            for field in fields:
                places[f"{made.__name__}: {field}"] = places[f"{table}: {field}"] = f"{table}.{field}"
            places[f"{made.__name__}: n and size"] = "blocks.n and blocks.size"
    names = {
        name: f"{table}.{key}"
        for (table, name), (_, key) in config.origins.items()
        if table not in ("blocks", "pairs")
    }
    places |= {place: names[name] for place, name in OWN.items() if name in names}
    given = [f"blocks.{key}" for key in ("n", "size", "design") if ("blocks", key) in config.origins]
    return Words(places, {"blocks": given[0] if given else "blocks", **names}, '{} = "{}"')
