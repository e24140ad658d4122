"""``distmom clean``: temporary files that killed runs have left."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from distmom.cli.failures import RESOURCES, write_stdout
from distmom.cli.layout import Argument, command

EXAMPLES = (
    ("where runs put temporary files by default", "distmom clean"),
    ("a folder that was given as --scratch", "distmom clean scratch/"),
    ("folders of outputs and states", "distmom clean . models/"),
)
REASONS = {"in use": "a run uses it", "could not be removed": "it cannot be removed; see its permissions"}


@command(
    "clean",
    "Remove temporary files that killed runs have left.",
    Argument(
        "folders",
        "Folders of --scratch, outputs, states or models.",
        nargs=-1,
        metavar="[FOLDER]...",
        type=click.Path(path_type=Path),
    ),
    examples=EXAMPLES,
)
def clean_command(folders: tuple[Path, ...]) -> int:
    """Remove temporary files of runs that were killed (SIGKILL, power loss).

    Files that a live run uses, or that another machine made, are kept.
    """
    from distmom.cluster.scratch import default_folder
    from distmom.errors import ConfigError
    from distmom.lake.files.leftovers import remove_leftovers

    for folder in folders:
        if not folder.is_dir():
            raise ConfigError(
                f"{str(folder)!r} is not a folder; name a --scratch folder, or the folder of an output"
            )
    places = folders or tuple(dict.fromkeys((default_folder(), Path(tempfile.gettempdir()))))
    code, lines = 0, []
    for left in (one for place in places for one in remove_leftovers(place)):
        if left.fate == "removed":
            lines.append(f"removed {left.path} ({left.size})")
            continue
        elsewhere = f"it is {left.fate}; run 'distmom clean' there"
        lines.append(f"kept {left.path}: {REASONS.get(left.fate, elsewhere)}")
        code = RESOURCES if left.fate == "could not be removed" else code
    write_stdout("\n".join(lines or [f"nothing to remove in {', '.join(map(str, places))}"]) + "\n")
    return code
