"""How a saved mean was made, and in what two of them differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from distmom.estimators.mean.counted_times import scale_from_facts
from distmom.estimators.options import MeanOptions
from distmom.lake.columns.times import kind_of_times
from distmom.lake.source import BATCH_ROWS, BatchReader, ReadOptions
from distmom.numerics.random.philox import DRAW_VERSION

ROWS = ("nan", "missing")
"""Options that say which rows count: with others, other rows would be in the sums."""

ANSWER = ("interval", "on_bad_file")
"""Options that the sums do not depend on. All others say which blocks are kept, so these are compared."""

HOW = frozenset({"compiled", "most_bytes", "batch_rows", "seed", "where", "times"})
"""Fields of a declaration that do not change the sums, or are compared apart."""

MOST_SAID = 3


class Counted(NamedTuple):
    """What blocks may depend on: rows of the lake, rows that pass the filter, and units (such as files)."""

    n_rows: int | None = None
    n_valid: int | None = None
    n_units: int | None = None


@dataclass(frozen=True)
class Made:
    """What the sums of a state depend on.

    Attributes
    ----------
    options : MeanOptions
    read : ReadOptions
        What was read of each file; its filter apart.
    where, condition : str or None
        The filter as it is shown, and what is compared of it.
    seed : int
        128 bits.
    shown_seed : int or str
        The seed as results print it.
    roots : tuple of str
        Folders that the files' paths start from, which key all draws; one, or several once merged.
    partitions : tuple of (str, str)
        Types of the asked columns that folder names give.
    draws : int
        Version of all random draws.
    """

    options: MeanOptions
    read: ReadOptions
    where: str | None
    condition: str | None
    seed: int
    shown_seed: int | str
    roots: tuple[str, ...]
    partitions: tuple[tuple[str, str], ...] = ()
    draws: int = DRAW_VERSION

    @classmethod
    def of(
        cls,
        options: MeanOptions,
        reader: BatchReader,
        roots: tuple[str, ...],
        seed: int,
        shown_seed: int | str,
    ) -> Made:
        """As a run with this reader makes it."""
        read = reader.options
        where = read.where
        used = {*read.columns, *read.by, *read.units, *(where.columns if where is not None else ())}
        known = getattr(reader, "partitions", ())
        return cls(
            options,
            replace(read, where=None, batch_rows=BATCH_ROWS),
            None if where is None else where.text,
            None if where is None else where.identity,
            seed,
            shown_seed,
            roots,
            tuple((name, kind) for name, kind in known if name in used),
        )

    def to_facts(self) -> dict[str, Any]:
        """As JSON carries it."""
        return {**asdict(self), "seed": f"0x{self.seed:032x}"}

    @classmethod
    def from_facts(cls, facts: dict[str, Any]) -> Made:
        """What `to_facts` wrote; an error of Python's if it did not."""
        given = {name: _tuples(value) for name, value in facts.items()}
        given["options"] = MeanOptions(**{n: _tuples(v) for n, v in facts["options"].items()})
        read = {n: _tuples(v) for n, v in facts["read"].items()}
        read["times"] = tuple((name, scale_from_facts(scale)) for name, scale in read["times"])
        given["read"] = ReadOptions(**read)
        given["seed"] = int(facts["seed"], 16)
        return cls(**given)


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def hard_differences(then: Made, now: Made, *, roots: bool = True) -> list[str]:
    """In what two differ so that their sums cannot go together, whatever the blocks."""
    apart = ("units", "times")  # the former are options: block_by
    names = [f.name for f in fields(ReadOptions) if f.name not in apart]
    pairs = [(name, getattr(then.read, name), getattr(now.read, name)) for name in names]
    pairs.append(("nan", then.options.nan, now.options.nan))
    pairs.append(("draws of version ", then.draws, now.draws))
    if then.condition != now.condition:
        if then.where != now.where:
            pairs.append(("where", then.where, now.where))
        else:  # Arrow leaves out the middle of long lists
            pairs.append(("where", then.condition, now.condition))
    if then.seed != now.seed:
        pairs.append(("rng", then.shown_seed, now.shown_seed))
    if roots:
        pairs.append(("files below ", then.roots, now.roots))
    kinds, other = ({n: kind_of_times(s) for n, s in made.read.times} for made in (then, now))
    pairs += [(f"column {n!r} of ", kinds[n] + "s", other[n] + "s") for n in kinds if n in other]
    before = dict(then.partitions)
    pairs += [(f"folders {name}= of type ", before.get(name, kind), kind) for name, kind in now.partitions]
    return [_said(*pair) for pair in pairs if pair[1] != pair[2]]


def soft_differences(then: MeanOptions, now: MeanOptions) -> list[str]:
    """In which options two differ that may, but need not, lead to other blocks."""
    names = [f.name for f in fields(MeanOptions) if f.name not in (*ROWS, *ANSWER)]
    differ = [name for name in names if getattr(then, name) != getattr(now, name)]
    # the confidence level decides the blocks of the propositions alone: blame it only if nothing else does
    blamed = [name for name in differ if name != "confidence_level"] or differ
    return [_said(name, getattr(then, name), getattr(now, name)) for name in blamed]


def _said(name: str, then: Any, now: Any) -> str:
    apart = "" if name[-1] == " " else "="
    return f"{name}{apart}{_value(then)}, now {name}{apart}{_value(now)}"


def _value(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(repr, value)) or "nothing"
    return repr(value)


def listed(differences: Sequence[str], second: str = "now") -> str:
    """The first differences, and how many more there are; `second` is what the later of the two is called."""
    more = len(differences) - MOST_SAID
    differences = [text.replace(", now ", f", {second} ") for text in differences[:MOST_SAID]]
    return "; ".join(differences) + (f"; and {more} more" if more > 0 else "")


def described(reduction: Any, read: ReadOptions, leaf_rows: int) -> dict[str, Any]:
    """All that the sums depend on beside seed, filter and files."""
    return {"reduction": describe(reduction), "read": describe(read), "leaf_rows": leaf_rows}


def describe(value: Any) -> Any:
    """A frozen declaration as JSON carries it, without what does not change the sums."""
    if is_dataclass(value) and not isinstance(value, type):
        inner = {f.name: describe(getattr(value, f.name)) for f in fields(value) if f.name not in HOW}
        return {"is": type(value).__name__, **inner}
    if isinstance(value, (tuple, list)):
        return [describe(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"a {type(value).__name__} cannot be described; make it a dataclass of plain values")
