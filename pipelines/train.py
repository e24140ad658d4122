"""A model learned from a lake by robust gradient descent, as a batch job.

    distmom train pipelines/train.toml
    python -m pipelines.train pipelines/train.toml

``train.toml`` beside this file shows every key.
"""

from __future__ import annotations

from typing import Any

import distmom as dm
from pipelines.config import Config, Key
from pipelines.job import Job, arguments, main
from pipelines.log import MinuteLines

TRAIN = {
    "learner": Key("text", required=True),
    "columns": Key("texts"),
    "target": Key("text"),
    "labels": Key("text", "target"),
    "mode": Key("text"),
    "compute": Key("text"),
    "nan": Key("text"),
    "model": Key("text"),
    "curve": Key("texts"),
    "checkpoint_seconds": Key("number"),
}
"""Keys of the table ``train``: what to learn from, and what to write."""

OPTIONS = {
    "loss": Key("text"),
    "balanced": Key("true, false or text"),
    "quantile": Key("number"),
    "alpha": Key("number"),
    "clusters": Key("whole number", "n_clusters"),
    "n_clusters": Key("whole number"),
    "temperature": Key("number"),
    "n_init": Key("whole number"),
    "blocks": Key("whole number", "n_blocks"),
    "n_blocks": Key("whole number"),
    "block_size": Key("whole number"),
    "contamination": Key("number"),
    "aggregator": Key("text"),
    "step_rule": Key("text"),
    "step_size": Key("number"),
    "steps": Key("whole number", "max_iter"),
    "max_iter": Key("whole number"),
    "averaging": Key("text"),
    "clip": Key("number"),
    "early_stopping": Key("true, false or text"),
    "tol": Key("number"),
    "scaling": Key("text"),
}
"""Keys of the table ``options``: parameters of the learner."""


def run(config: Config, progress: MinuteLines) -> dm.Results:
    """Learn the model and write it."""
    return dm.Results.of(dm.train(**_arguments(config), progress=progress))


def explain(config: Config) -> dict[str, Any]:
    """What `run` would read."""
    return dm.explain_train(**_arguments(config))


def _arguments(config: Config) -> dict[str, Any]:
    given = arguments(config, "train")
    for name in ("batch_rows", "on_change"):
        if given.pop(name, None) is not None:
            line = config.lines["run", name]
            raise dm.ConfigError(
                f"{config.path}, line {line}: run.{name}: means nothing for a training; drop it"
            )
    if "model" in given:
        given["model"] = config.beside(given["model"])
    if "curve" in given:
        names = given["curve"] if isinstance(given["curve"], list) else [given["curve"]]
        given["curve"] = [config.beside(name) for name in names]
    return {**given, "options": config.table("options")}


JOB = Job("train", {"train": TRAIN, "options": OPTIONS}, run, explain)

if __name__ == "__main__":
    main(JOB)
