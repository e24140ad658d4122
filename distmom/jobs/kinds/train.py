"""A model trained on a lake by robust gradient descent, as a batch job."""

from __future__ import annotations

from distmom.jobs.job import job_of
from distmom.jobs.keys import DATA, RUN, Key, refusing

TRAIN = {
    "learner": Key("text", required=True),
    "columns": Key("texts"),
    "target": Key("text"),
    "labels": Key("text", "target"),
    "mode": Key("text"),
    "compute": Key("text"),
    "model": Key("text", path=True),
    "curve": Key("texts", path=True),
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

DATA_OF_TRAINING = refusing(DATA, "does not apply to training", "batch_rows")

JOB = job_of(
    "train",
    "train",
    {"train": TRAIN, "options": OPTIONS},
    data=DATA_OF_TRAINING,
    run=refusing(RUN, "does not apply to training", "on_change"),
    as_one=("options",),
)
