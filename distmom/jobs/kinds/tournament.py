"""Choose among columns of predictions, or models from files, as a batch job."""

from __future__ import annotations

from distmom.jobs.job import job_of
from distmom.jobs.keys import SCRATCH, Key, refusing

TOURNAMENT = {
    "candidates": Key("texts", required=True, path=(".skops", ".npy")),
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

JOB = job_of(
    "tournament",
    "tournament",
    {"tournament": TOURNAMENT},
    run=refusing(SCRATCH, "the rounds of a tournament are all about the same files", "on_change"),
)
