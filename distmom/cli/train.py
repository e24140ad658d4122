"""``distmom train``: a model from its configuration file."""

from __future__ import annotations

import click


@click.command("train", short_help="Learn a model by robust gradient descent, as a TOML file says.")
@click.argument("config", metavar="CONFIG.toml")
@click.option("--dry-run", is_flag=True, help="Check the configuration and show the plan; read no rows.")
@click.option("--state", metavar="FILE", help="Checkpoints; a run that was interrupted goes on from them.")
@click.option("--log-json", is_flag=True, help="Log one JSON object a line on standard error.")
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Run on this Dask cluster, whatever the file says: an address, or a scheduler file (.json).",
)
@click.option("--quiet", is_flag=True, help="Log warnings and errors only.")
def train_command(
    config: str, dry_run: bool, state: str | None, log_json: bool, scheduler: str | None, quiet: bool
) -> int:
    """Learn a metric, a ranking, a linear model or clusters from a lake, despite outliers.

    CONFIG.toml is a batch job with pipeline = "train"; 'distmom init train' writes one that shows every
    key. The model is written as JSON and .npy files, the learning curve as a table or a picture.
    """
    from distmom.jobs import run_config
    from distmom.jobs.kinds.train import JOB

    return run_config(
        config,
        dry_run=dry_run,
        log_json=log_json,
        quiet=quiet,
        scheduler=scheduler,
        job=JOB,
        state=state,
    )
