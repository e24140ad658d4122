"""Robust U-statistics of one lake, or of two samples such as this month and the last, as a batch job."""

from __future__ import annotations

import distmom as dm
from distmom.jobs.config import Config
from distmom.jobs.job import job_of
from distmom.jobs.keys import BLOCKS, DATA, PAIRS, PROMISE, SCRATCH, STATE, Key, refusing

USTAT = {
    "columns": Key("texts", "column"),
    "column": Key("texts"),
    "kernel": Key("text", required=True),
    "parameters": Key("parameters"),
    "by": Key("texts"),
    "samples": Key("texts"),
    "weights": Key("text"),
    "statistic": Key("text", choices=("u", "v")),
    "joint": Key("text", choices=("coordinatewise", "geometric")),
    "project": Key("text", choices=("psd", "correlation")),
}
"""Keys of the table ``ustat``."""


def n_samples(config: Config) -> int:
    """Number of lakes: one per sample of the kernel, or a single one whose values define the samples."""
    given = config.table("ustat")
    made = dm.kernels.named(given["kernel"], **given.get("parameters", {}))
    return 1 if "samples" in given else len(made.degrees)


JOB = job_of(
    "ustat",
    "ustatistic",
    {"ustat": USTAT, "blocks": BLOCKS, "pairs": PAIRS, "promise": PROMISE},
    data={**DATA, "where": Key("texts")},
    n_samples=n_samples,
    run=refusing(SCRATCH, "U-statistics read all rows again", *STATE),
)
