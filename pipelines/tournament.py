"""Choose among columns of predictions, or models from files, as a batch job.

    distmom run pipelines/tournament.toml
    python -m pipelines.tournament pipelines/tournament.toml

``tournament.toml`` beside this file shows every key.
"""

from __future__ import annotations

from typing import Any

import distmom as dm
from pipelines.config import Config, Key
from pipelines.job import SCRATCH, Job, arguments, main
from pipelines.log import MinuteLines

TOURNAMENT = {
    "candidates": Key("texts", required=True),
    "target": Key("text"),
    "loss": Key("text"),
    "loss_parameter": Key("number"),
    "features": Key("texts"),
    "distance": Key("text"),
    "beta_r": Key("number"),
    "blocks": Key("whole number or text", "n_blocks"),
    "n_blocks": Key("whole number or text"),
    "contamination": Key("number"),
    "chunk_rows": Key("whole number"),
    "block_by": Key("texts"),
    "scheme": Key("text"),
    "block_size": Key("whole number"),
    "pairs": Key("text"),
    "n_pairs": Key("whole number"),
    "pair_budget": Key("number"),
    "confidence": Key("number", "confidence_level"),
    "confidence_level": Key("number"),
}
"""Keys of the table ``tournament``: the words of the command line, and those of Python where they differ."""


def run(config: Config, progress: MinuteLines) -> dm.Results:
    """The tournament."""
    return dm.tournament(**_arguments(config), progress=progress)


def explain(config: Config) -> dict[str, Any]:
    """What `run` would read and keep."""
    return dm.explain_tournament(**_arguments(config))


def _arguments(config: Config) -> dict[str, Any]:
    """Arguments of `distmom.tournament`; files of candidates start from the configuration's folder."""
    given = arguments(config, "tournament")
    given.pop("on_change", None)
    named = given["candidates"]
    named = [named] if isinstance(named, str) else named
    given["candidates"] = [config.beside(n) if n.endswith((".skops", ".npy")) else n for n in named]
    return given


JOB = Job("tournament", {"tournament": TOURNAMENT, "run": SCRATCH}, run, explain)

if __name__ == "__main__":
    main(JOB)
