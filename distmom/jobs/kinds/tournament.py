"""Choose among columns of predictions, or models from files, as a batch job."""

from __future__ import annotations

from distmom.jobs.job import job_of
from distmom.jobs.keys import BLOCKS, DATA, PAIRS, PROMISE, SCRATCH, Key, only, refusing

TOURNAMENT = {
    "candidates": Key("texts", required=True, path=(".skops", ".npy")),
    "target": Key("text"),
    "loss": Key("text"),
    "loss_parameter": Key("number"),
    "features": Key("texts"),
    "distance": Key("text"),
    "beta_r": Key("number"),
}
"""Keys of the table ``tournament``."""

JOB = job_of(
    "tournament",
    "tournament",
    {
        "tournament": TOURNAMENT,
        "blocks": only(BLOCKS, "design", "n", "size", "columns", "chunk_rows", "replace"),
        "pairs": PAIRS,
        "promise": only(PROMISE, "contamination", "confidence", "confidence_level"),
    },
    data={key: value for key, value in DATA.items() if key != "nan"},
    run=refusing(SCRATCH, "all rounds of a tournament read the same files", "on_change"),
)
