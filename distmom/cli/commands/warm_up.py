"""``distmom warm-up``: compile all kernels before the first run needs them."""

from __future__ import annotations

import sys

import click

from distmom.cli.failures import write_stdout
from distmom.cli.layout import Option, command
from distmom.words import counted

EXAMPLES = (
    ("all kernels, once after the installation", "distmom warm-up"),
    ("how many are missing", "distmom warm-up --dry-run"),
    ("in the script that builds an image", "distmom warm-up --quiet"),
)


@command(
    "warm-up",
    "Compile all kernels, once for a machine or an image.",
    Option("--dry-run", "Show how many kernels are missing; compile none.", bool, "Output"),
    Option("--quiet", "No progress and no line about the kernels.", bool, "Output"),
    examples=EXAMPLES,
)
def warm_up_command(dry_run: bool, quiet: bool) -> int:
    """Compile all kernels for the processor of this machine.

    Without this command, kernels are compiled as large data needs them. They are kept in the folder that is
    printed, or in that of the variable NUMBA_CACHE_DIR, for all processes of the user.
    """
    from distmom.errors import ResourceError
    from distmom.numerics.kernel_folder import kernel_folder
    from distmom.numerics.warm_up import missing, warm_up

    folder = kernel_folder()
    if folder is None:
        raise ResourceError(
            "kernels: no folder to keep them in; set NUMBA_CACHE_DIR to a folder that can be written to"
        )
    n, kept = missing(), f"kept in {folder}"
    if dry_run:
        said = f"missing: {counted(n, 'kernel')}; all others are {kept}"
    else:
        terminal = not quiet and sys.stderr is not None and sys.stderr.isatty()

        def tell(done: int, of: int) -> None:
            click.echo(f"\rcompiling kernels: {done} of {of}", nl=False, err=True)

        warm_up(tell if terminal else None)
        if terminal:
            click.echo("\r\033[K", nl=False, err=True)
        said = f"compiled: {counted(n, 'kernel')}; all are {kept}"
    if not quiet:
        write_stdout(said + "\n")
    return 0
