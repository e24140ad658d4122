"""Compare columns of two samples, such as this month and the last, as a batch job.

    distmom run pipelines/drift.toml
    python -m pipelines.drift pipelines/drift.toml

``drift.toml`` beside this file shows every key.
"""

from __future__ import annotations

from typing import Any

import distmom as dm
from distmom.errors import ConfigError
from pipelines.config import Config, Key
from pipelines.job import DATA, SCRATCH, Job, arguments, main
from pipelines.log import MinuteLines, log

DRIFT = {
    "columns": Key("texts", "column", required=True),
    "by": Key("text"),
    "samples": Key("texts"),
    "statistics": Key("texts"),
    "bandwidth": Key("number"),
    "block_by": Key("texts"),
    "permutations": Key("whole number", "n_permutations"),
    "n_permutations": Key("whole number"),
    "test_rows": Key("whole number"),
    "pair_budget": Key("number"),
    "blocks": Key("whole number or text", "n_blocks"),
    "n_blocks": Key("whole number or text"),
    "nan": Key("text"),
    "interval": Key("text"),
    "confidence": Key("number", "confidence_level"),
    "confidence_level": Key("number"),
}
"""Keys of the table ``drift``: the words of the command line, and those of Python where they differ."""


def run(config: Config, progress: MinuteLines) -> dm.Results:
    """The comparison; a line of the log for each column that drifted."""
    found = dm.compare(**_arguments(config), progress=progress)
    results = dm.Results.of(found)
    for one in results.to_dict()["results"]:
        if one["drifted"]:
            what = {key: one[key] for key in ("column", "compared_by", "estimate", "p_adjusted")}
            said = f"{one['column']} drifted: {one['compared_by']} {one['estimate']:.6g}"
            log("drift", f"{said}, adjusted p {one['p_adjusted']:.3g}", level="warning", **what)
    return results


def explain(config: Config) -> dict[str, Any]:
    """What `run` would read and keep."""
    return dm.explain_compare(**_arguments(config))


def _arguments(config: Config) -> dict[str, Any]:
    for name in ("state", "on_change"):
        if ("run", name) in config.lines:
            line = config.lines["run", name]
            raise ConfigError(
                f"{config.path}, line {line}: run.{name}: a comparison reads all its rows again; drop it"
            )
    return arguments(config, "drift")


TABLES = {"data": {**DATA, "where": Key("texts")}, "drift": DRIFT, "run": SCRATCH}
JOB = Job("drift", TABLES, run, explain)

if __name__ == "__main__":
    main(JOB)
