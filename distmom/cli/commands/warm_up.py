"""``distmom warm-up``: compile all kernels before the first run needs them."""

from __future__ import annotations

import sys

import click

from distmom.cli.failures import write_stdout

HELP = """Compile all kernels, once for a machine or an image.

\b
Large data is evaluated by kernels that are compiled for the processor of the
machine. Without this command each is compiled when it is first needed. The
kernels are kept in the folder that the command names, which the variable
NUMBA_CACHE_DIR decides, and all processes of the user find them there.
"""


@click.command("warm-up", short_help="Compile all kernels, once for a machine or an image.", help=HELP)
def warm_up_command() -> int:
    """Compile what is missing, and say where it is kept."""
    from distmom.errors import ResourceError
    from distmom.numerics.kernel_folder import kernel_folder
    from distmom.numerics.warm_up import warm_up

    folder = kernel_folder()
    if folder is None:
        raise ResourceError(
            "kernels: no folder to keep them in; set NUMBA_CACHE_DIR to a folder that can be written to"
        )
    terminal = sys.stderr is not None and sys.stderr.isatty()

    def tell(done: int, of: int) -> None:
        click.echo(f"\rcompiling kernels: {done} of {of}", nl=False, err=True)

    n = warm_up(tell if terminal else None)
    if terminal:
        click.echo("\r\033[K", nl=False, err=True)
    write_stdout(f"{n} kernels are compiled, in {folder}\n")
    return 0
