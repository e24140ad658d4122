"""What messages call the flags: users of the command line do not know the objects of Python."""

from __future__ import annotations

import re
from collections.abc import Callable
from shlex import quote
from typing import Any

import click

from distmom.errors import DistmomError
from distmom.remedies import ALLOWED, FILES, SCATTERED, UNIT, WHERE, WHOLE_FILES
from distmom.words import Wording

NUMBER = {"n": "--blocks", "size": "--block-size"}
BLOCKS: dict[str, dict[str, str]] = {
    "RandomBlocks": {**NUMBER, "chunk_rows": "--chunk-rows", "repeats": "--repeats", "fine": "--fine"},
    "StoredBlocks": NUMBER,
    "UnitBlocks": {"columns": "--block-by", **NUMBER},
    "FileBlocks": NUMBER,
    "SampledBlocks": {**NUMBER, "tau": "--tau"},
}
PAIRS = {"n": "--pair-count", "budget": "--pair-budget"}
MATCH = {"distance": "--distance", "beta_r": "--beta-r"}
FIELDS: dict[str, dict[str, str]] = {
    **BLOCKS,
    "blocks": {name: flag for of in BLOCKS.values() for name, flag in of.items()},
    **dict.fromkeys(("SampledPairs", "pairs"), PAIRS),
    "CompletePairs": {"budget": "--pair-budget"},
    "Threads": {"n": "--threads"},
    "Processes": {"n": "--workers"},
    "Permutations": {"n": "--permutations", "rows": "--test-rows"},
    **dict.fromkeys(("Match", "match"), MATCH),
    "Loss": {"name": "--loss", "parameter": "--loss-parameter"},
}
"""Flags for the fields of objects, in the order in which these take them."""

KINDS = {
    "RandomBlocks": "random blocks",
    "StoredBlocks": "--order stored",
    "UnitBlocks": "--block-by",
    "FileBlocks": "--block-by file",
    "SampledBlocks": "--scheme",
    "CompletePairs": "--pairs complete",
    "SampledPairs": "--pairs sampled",
    "DisjointPairs": "--pairs disjoint",
    "Processes": "--workers",
    "Threads": "--threads",
}
HEADS = {
    "RandomBlocks": "",
    "UnitBlocks": "",
    "SampledBlocks": "--scheme swor",
    "SampledBlocks(replace=True)": "--scheme monte_carlo",
    "SampledPairs(replace=True)": "--pairs sampled --scheme monte_carlo",
}
PHRASES = {
    "blocks=…": "blocks",
    "n or size": "--blocks or --block-size",
    WHOLE_FILES: "'file'",
    **{said: said.partition(" (")[0] for said in (FILES, UNIT, SCATTERED, ALLOWED, WHERE)},  # in both ways
    "State(path, on_change='restart')": "--on-change restart",
}
PLAIN = re.compile(r"[\w.,:/@%+=-]+|…")
"""What a shell takes as it is."""


def flags_of(command: click.Command) -> Wording:
    """The words of a command: its flags in place of parameters."""
    named = {
        option.name: next((flag for flag in option.opts if flag.startswith("--")), option.opts[0])
        for option in command.params
        if isinstance(option, click.Option) and option.name is not None
    }
    blocks = {"blocks": named["n_blocks"]} if "n_blocks" in named else {}
    return Wording(KINDS, HEADS, FIELDS, {**named, **blocks}, shown=_shown, phrases=PHRASES)


def _shown(value: Any) -> str:
    """A value as a shell takes it; several are given one by one, all for the flag of units."""
    if isinstance(value, list):
        return " --block-by ".join(map(_shown, value))
    text = str(value)
    return text if PLAIN.fullmatch(text) else f'"{text}"' if not set(text) & set('"$`\\!') else quote(text)


def wording() -> Callable[[str], str]:
    """A function that says a remark in the words of the command that runs."""
    context = click.get_current_context(silent=True)
    return str if context is None else flags_of(context.command).of


def telling_flags(command: Callable[[], click.Command | None], run: Callable[[], int]) -> int:
    """Run; failures name the flags of the command, which is known by then."""
    try:
        return run()
    except DistmomError as error:
        known = command()
        if known is not None:
            error.args = (flags_of(known).of(str(error)),)
        raise
