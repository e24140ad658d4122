"""``distmom run`` and ``distmom train``: a batch job from its configuration file."""

from __future__ import annotations

from typing import Any

import click

from distmom.cli.options import Option

CONFIG = click.Argument(["config"], metavar="CONFIG.toml")
DRY_RUN = Option("--dry-run", "Check the configuration and show the plan; read no rows.", bool)
LOG_JSON = Option("--log-json", "Log one JSON object a line on standard error.", bool)
SCHEDULER = Option(
    "--scheduler",
    "Run on this Dask cluster, whatever the file says: an address, or a scheduler file (.json).",
    "ADDRESS",
)
WORKERS = Option(
    "--workers",
    "Run on this number of processes of this machine, whatever the file says.",
    int,
    metavar="N",
)
STATE = Option("--state", "Checkpoints; a run that was interrupted goes on from them.", "FILE")
QUIET = Option("--quiet", "Log warnings and errors only.", bool)


@click.command(
    "run",
    short_help="Run a batch job from its TOML configuration.",
    params=[CONFIG, DRY_RUN, LOG_JSON, SCHEDULER, WORKERS, QUIET],
)
def run_command(config: str, **how: Any) -> int:
    """Run the batch job named by the 'pipeline' key of a TOML file."""
    from distmom.jobs import run_config

    return run_config(config, **how)


@click.command(
    "train",
    short_help="Learn a model by robust gradient descent, as a TOML file says.",
    params=[CONFIG, DRY_RUN, STATE, LOG_JSON, SCHEDULER, QUIET],
)
def train_command(config: str, **how: Any) -> int:
    """Learn a metric, a ranking, a linear model or clusters from a lake, despite outliers.

    CONFIG.toml is a batch job with pipeline = "train"; 'distmom init train' writes one that shows every
    key. The model is written as JSON and .npy files, the learning curve as a table or a picture.
    """
    from distmom.jobs import run_config
    from distmom.jobs.kinds.train import JOB

    return run_config(config, job=JOB, **how)
