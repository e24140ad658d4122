"""Means of a lake that grows by the day, as a batch job that a scheduler starts every night.

    distmom run pipelines/nightly.toml
    python -m pipelines.nightly pipelines/nightly.toml

The sums of all nights are kept in a state: each run reads the files that are new since the last one, of a
folder, an object store or a table's last version, and reports on all rows. ``nightly.toml`` beside this file
shows every key.
"""

from __future__ import annotations

from typing import Any

import distmom as dm
from pipelines.config import Config
from pipelines.job import Job, arguments, main
from pipelines.log import MinuteLines
from pipelines.summary import MEAN


def run(config: Config, progress: MinuteLines) -> dm.Results:
    """Robust means of all rows that any night has read."""
    return dm.Results.of(dm.mean(**_arguments(config), progress=progress))


def explain(config: Config) -> dict[str, Any]:
    """What the next night would read."""
    return dm.explain_mean(**_arguments(config))


def _arguments(config: Config) -> dict[str, Any]:
    """Those of a mean, whose state is not optional here."""
    found = arguments(config, "mean")
    if "state" not in found:
        raise dm.ConfigError(
            f"{config.path}: run.state: names no file; a nightly job keeps its sums there "
            "(for a mean without a state, use the pipeline 'summary')"
        )
    return found


JOB = Job("nightly", {"mean": MEAN}, run, explain)

if __name__ == "__main__":
    main(JOB)
