"""``distmom run``, ``train`` and ``init``: a batch job from its file, and a template to start from."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from distmom.cli.failures import write_stdout
from distmom.cli.layout import MEMORY, PLACES, Argument, Option, command
from distmom.json_lines import json_stderr

CONFIG = Argument("config", "The job; 'distmom init' writes one to start from.", metavar="CONFIG.toml")
DRY_RUN = Option("--dry-run", "Check the job and show its plan; read no rows.", bool, "Output")
SCHEDULER = Option("--scheduler", "Run on this Dask cluster, whatever the file says.", "ADDRESS", PLACES)
WORKERS = Option("--workers", "Run on N processes, whatever the file says.", int, PLACES, metavar="N")
STATE = Option("--state", "Save checkpoints here; an interrupted run resumes from them.", "FILE", MEMORY)
QUIET = Option("--quiet", "Log warnings and errors only.", bool, "Output")
EXAMPLES_OF_RUN = (
    ("check a job", "distmom run --dry-run summary.toml"),
    ("run it, and log JSON lines", "distmom run --log-json summary.toml"),
    ("on two processes, saying little", "distmom run --workers 2 --quiet summary.toml"),
)
EXAMPLES_OF_TRAIN = (
    ("check a training", "distmom train --dry-run train.toml"),
    ("train", "distmom train train.toml"),
    ("keep checkpoints, saying little", "distmom train --state train.state --quiet train.toml"),
)
EXAMPLES_OF_INIT = (
    ("a nightly job", "distmom init nightly"),
    ("a summary under another name", "distmom init summary orders.toml"),
    ("scripts for SLURM, replacing old ones", "distmom init slurm --force"),
)


@command(
    "run",
    "Run a batch job from its TOML file.",
    *(CONFIG, SCHEDULER, WORKERS, DRY_RUN, QUIET),
    examples=EXAMPLES_OF_RUN,
)
def run_command(config: str, **how: Any) -> int:
    """Run the batch job named by the 'pipeline' key of a TOML file.

    SIGTERM and Ctrl-C end a run in order; a job with a state resumes.
    """
    from distmom.jobs import run_config

    return run_config(config, log_json=json_stderr.active, **how)


@command(
    "train",
    "Train a model by robust gradient descent.",
    *(CONFIG, STATE, SCHEDULER, DRY_RUN, QUIET),
    examples=EXAMPLES_OF_TRAIN,
)
def train_command(config: str, **how: Any) -> int:
    """Train a metric, a ranking, a linear model or clusters from a lake, despite outliers.

    The TOML file has pipeline = "train". The model is written as JSON and .npy files, the learning curve as a
    table or a picture.
    """
    from distmom.jobs import run_config
    from distmom.jobs.kinds.train import JOB

    return run_config(config, job=JOB, log_json=json_stderr.active, **how)


NEXT = {
    "slurm": "set tasks, memory and time at the head of the two scripts; then",
    "kubernetes": """set image, command and sizes in values.yaml, and the secret with certificates, which
deploy/tls/make-certificates of the repository makes; then, with the Dask operator in the cluster""",
}
NEXT_OF_JOBS = "say in [data] what to read, and in the tables below what to do with it; then"


@command(
    "init",
    "Write a job, or scripts that start clusters.",
    Argument(
        "template",
        "A job (summary, nightly, ustat, drift, tournament or train), slurm, or kubernetes.",
    ),
    Argument(
        "path",
        "File or folder to write.  [default: named as the template]",
        required=False,
        metavar="[PATH]",
        type=click.Path(path_type=Path),
    ),
    Option("--force", "Replace what exists.", bool, "Output"),
    examples=EXAMPLES_OF_INIT,
)
@click.pass_context
def init_command(ctx: click.Context, template: str, path: Path | None, force: bool) -> int:
    """Write a template to start from, and say what to do next."""
    from distmom.checks import check_choice
    from distmom.jobs.template_files import is_folder, template_files, template_names

    check_choice("template", template, template_names())
    texts = template_files(template)
    if is_folder(template):
        folder = path or Path(template)
        targets = {folder / name: text for name, text in texts.items()}
    else:
        [(name, text)] = texts.items()
        target = path or Path(name)
        target = target / name if target.is_dir() else target
        if target.suffix != ".toml":
            raise click.UsageError(f"{str(target)!r} does not end in .toml; rename it", ctx)
        folder, targets = target.parent, {target: text.replace(name, target.name)}
    _write(targets, folder, force, make=is_folder(template))
    write_stdout(_said(template, folder, list(targets)))
    return 0


def _write(targets: dict[Path, str], folder: Path, force: bool, make: bool) -> None:
    """Write each file whole; none if one of them is in the way."""
    from distmom.errors import ConfigError, ResourceError
    from distmom.lake.files.atomic import atomic_file

    taken = [target for target in targets if target.is_dir() or (target.exists() and not force)]
    if taken:
        way = "" if taken[0].is_dir() else ", or replace it with --force"
        raise ConfigError(f"{str(taken[0])!r} exists; choose another name{way}")
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{str(folder)!r} is a file, not a folder; choose another name")
    if not (make or folder.exists()):
        raise ConfigError(f"there is no folder {str(folder)!r}; create it first")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for target, text in targets.items():
            with atomic_file(target) as unfinished:
                unfinished.write_text(text, encoding="utf-8")
            if text.startswith("#!"):
                mode = target.stat().st_mode
                target.chmod(mode | (mode & 0o444) >> 2)  # whoever may read it may run it
    except OSError as error:
        raise ResourceError(f"{str(folder)!r} cannot be written to: {error.strerror or error}") from error


def _said(template: str, folder: Path, targets: list[Path]) -> str:
    """What was written, and what to do next."""
    file, there = shlex.quote(str(targets[0])), shlex.quote(str(folder))
    apart = "" if folder == Path("slurm") else f"DISTMOM_DEPLOY={shlex.quote(str(folder.absolute()))} "
    then = {
        "slurm": [f"{apart}sbatch {there}/distmom.sbatch run CONFIG.toml"],
        "kubernetes": [f"{there}/manifests job | kubectl apply --filename -"],
    }.get(template, [f"distmom run --dry-run {file}", f"distmom run {file}"])
    lines = [f"wrote {', '.join(map(str, targets))}", f"Next: {NEXT.get(template, NEXT_OF_JOBS)}"]
    return "\n".join([*lines, *(f"    {line}" for line in then)]) + "\n"
