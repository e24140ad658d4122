"""Robust means of the columns of a lake, as a batch job."""

from __future__ import annotations

from distmom.jobs.job import job_of
from distmom.jobs.keys import Key

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

JOB = job_of("summary", "mean", {"mean": MEAN})
