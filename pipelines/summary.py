"""Robust means of the columns of a lake, as a batch job.

    distmom run pipelines/summary.toml
    python -m pipelines.summary pipelines/summary.toml

``summary.toml`` beside this file shows every key.
"""

from __future__ import annotations

from typing import Any

import distmom as dm
from pipelines.config import Config, Key
from pipelines.job import Job, arguments, main
from pipelines.log import MinuteLines

MEAN = {
    "columns": Key("texts", "column"),
    "column": Key("texts"),
    "by": Key("texts"),
    "scheme": Key("text"),
    "blocks": Key("whole number or text", "n_blocks"),
    "n_blocks": Key("whole number or text"),
    "block_size": Key("whole number"),
    "tau": Key("number"),
    "order": Key("text"),
    "block_by": Key("texts"),
    "chunk_rows": Key("whole number"),
    "repeats": Key("whole number"),
    "contamination": Key("number"),
    "weights": Key("text"),
    "joint": Key("true, false or text"),
    "fine": Key("text"),
    "nan": Key("text"),
    "interval": Key("text"),
    "confidence": Key("number", "confidence_level"),
    "confidence_level": Key("number"),
}
"""Keys of the table ``mean``: the words of the command line, and those of Python where they differ."""


def run(config: Config, progress: MinuteLines) -> dm.Results:
    """Robust mean of each column and group."""
    return dm.Results.of(dm.mean(**arguments(config, "mean"), progress=progress))


def explain(config: Config) -> dict[str, Any]:
    """What `run` would read and keep."""
    return dm.explain_mean(**arguments(config, "mean"))


JOB = Job("summary", {"mean": MEAN}, run, explain)

if __name__ == "__main__":
    main(JOB)
