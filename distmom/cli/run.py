"""``distmom run``: a batch job from its configuration file."""

from __future__ import annotations

import click


@click.command("run", short_help="Run a batch job from its TOML configuration.")
@click.argument("config", metavar="CONFIG.toml")
@click.option("--dry-run", is_flag=True, help="Check the configuration and show the plan; read no rows.")
@click.option("--log-json", is_flag=True, help="Log one JSON object a line on standard error.")
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Run on this Dask cluster, whatever the file says: an address, or a scheduler file (.json).",
)
@click.option(
    "--workers",
    type=int,
    metavar="N",
    help="Run on this number of processes of this machine, whatever the file says.",
)
@click.option("--quiet", is_flag=True, help="Log warnings and errors only.")
def run_command(
    config: str, dry_run: bool, log_json: bool, scheduler: str | None, workers: int | None, quiet: bool
) -> int:
    """Run the batch job named by the 'pipeline' key of a TOML file."""
    from distmom.jobs import run_config

    return run_config(
        config, dry_run=dry_run, log_json=log_json, quiet=quiet, scheduler=scheduler, workers=workers
    )
