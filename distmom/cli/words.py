"""What messages call the flags: objects of Python are unknown on the command line."""

from __future__ import annotations

from collections.abc import Callable

import click

from distmom.errors import DistmomError, Words

FIELDS: dict[tuple[str, ...], dict[str, str]] = {
    ("blocks", "RandomBlocks", "StoredBlocks", "UnitBlocks", "FileBlocks", "SampledBlocks"): {
        "n": "--blocks",
        "size": "--block-size",
        "n and size": "--blocks and --block-size",
        "columns": "--block-by",
        "chunk_rows": "--chunk-rows",
        "repeats": "--repeats",
        "fine": "--fine",
        "tau": "--tau",
    },
    ("pairs", "CompletePairs", "SampledPairs"): {"n": "--pair-count", "budget": "--pair-budget"},
    ("Threads",): {"n": "--threads"},
    ("Processes",): {"n": "--workers"},
    ("Permutations",): {"n": "--permutations", "rows": "--test-rows"},
    ("match", "Match"): {"distance": "--distance", "beta_r": "--beta-r"},
    ("Loss",): {"parameter": "--loss-parameter"},
}
"""Flags for the fields of objects."""

PLACES = {
    **{
        f"{kind}: {field}": flag
        for kinds, of in FIELDS.items()
        for kind in kinds
        for field, flag in of.items()
    },
    "blocks='auto'": "--blocks auto",
    "blocks='paper'": "--blocks paper",
    "blocks=…": "blocks",
    "blocks=FileBlocks": "--block-by file",
    "--block-by file (blocks=FileBlocks())": "--block-by file",  # said in both ways
    "RandomBlocks": "random blocks",
    "RandomBlocks(fine='many')": "--fine many",
    "RandomBlocks(repeats=5)": "--repeats 5",
    "StoredBlocks": "--order stored",
    "UnitBlocks": "--block-by",
    "FileBlocks": "--block-by file",
    "SampledBlocks": "--scheme",
    "SampledBlocks(replace=True)": "--scheme monte_carlo",
    "SampledBlocks(size=…)": "--block-size",
    "CompletePairs": "--pairs complete",
    "SampledPairs": "--pairs sampled",
    "SampledPairs(n)": "--pair-count",
    "SampledPairs(replace=True)": "--scheme monte_carlo",
    "DisjointPairs": "--pairs disjoint",
    "State(path, on_change='restart')": "--on-change restart",
}
"""What objects, and calls with them, are on the command line."""


def flags_of(command: click.Command) -> Words:
    """The words of a command: its own flags stand for parameters."""
    named = {
        option.name: next((flag for flag in option.opts if flag.startswith("--")), option.opts[0])
        for option in command.params
        if isinstance(option, click.Option) and option.name is not None
    }
    blocks = {"blocks": named["n_blocks"]} if "n_blocks" in named else {}
    return Words(PLACES, {**named, **blocks}, "{} {}")


def in_flags(text: str) -> str:
    """A remark in the words of the command that runs."""
    context = click.get_current_context(silent=True)
    return text if context is None else flags_of(context.command).of(text)


def telling_flags(command: Callable[[], click.Command | None], run: Callable[[], int]) -> int:
    """Run; failures name the flags of the command, which is known by then."""
    try:
        return run()
    except DistmomError as error:
        known = command()
        if known is not None:
            error.args = (flags_of(known).of(str(error)),)
        raise
