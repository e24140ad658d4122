"""Robust means of the columns of a lake, as a batch job."""

from __future__ import annotations

from distmom.jobs.job import job_of
from distmom.jobs.keys import BLOCKS, PROMISE, Key

MEAN = {
    "columns": Key("texts", "column"),
    "column": Key("texts"),
    "by": Key("texts"),
    "weights": Key("text"),
    "joint": Key("true, false or text"),
}
"""Keys of the table ``mean``."""

TABLES = {"mean": MEAN, "blocks": BLOCKS, "promise": PROMISE}

JOB = job_of("summary", "mean", TABLES | {"promise": {**PROMISE, "passes": Key("whole number")}})
