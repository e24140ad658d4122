"""How a saved mean was made."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

from distmom.designs.blocks import DESIGNS
from distmom.estimators.mean.counted_times import scale_from_facts
from distmom.estimators.options import MeanOptions
from distmom.lake.columns.times import kind_of_times
from distmom.lake.source import BATCH_ROWS, BatchReader, ReadOptions
from distmom.state import Fingerprint, shown

ROWS = ("nan", "missing")
"""Options that say which rows count: with others, other rows would be in the sums."""

ANSWER = ("interval", "on_bad_file")
"""Options that the sums do not depend on. All others say which blocks are kept."""


KINDS: dict[str, Any] = {kind.__name__: kind for kind in DESIGNS}


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
    """

    options: MeanOptions
    read: ReadOptions
    where: str | None
    condition: str | None
    seed: int
    shown_seed: int | str
    roots: tuple[str, ...]
    partitions: tuple[tuple[str, str], ...] = ()

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

    @property
    def fingerprint(self) -> Fingerprint:
        """What is compared of it; units are among the options."""
        read, options = self.read, asdict(self.options)
        question = {
            **{name: getattr(read, name) for name in ("columns", "by", "vectors", "present")},
            **{name: options[name] for name in ROWS},
            "where": shown(self.condition, self.where),
            "folder of the files": self.roots,
            **{f"column {name!r}": f"{kind_of_times(scale)}s" for name, scale in read.times},
            **{f"type of folders {name}=": kind for name, kind in self.partitions},
        }
        design = {name: value for name, value in options.items() if name not in (*ROWS, *ANSWER, "design")}
        design["blocks"] = repr(self.options.design)
        return Fingerprint.of(question, design, self.seed, self.shown_seed)

    def to_facts(self) -> dict[str, Any]:
        """As JSON carries it."""
        facts = {**asdict(self), "seed": f"0x{self.seed:032x}"}
        facts["options"]["design"] = [type(self.options.design).__name__, facts["options"]["design"]]
        return facts

    @classmethod
    def from_facts(cls, facts: dict[str, Any]) -> Made:
        """What `to_facts` wrote; an error of Python's if it did not."""
        given = {name: _tuples(value) for name, value in facts.items()}
        options = {n: _tuples(v) for n, v in facts["options"].items()}
        kind, fields = options["design"]
        options["design"] = KINDS[kind](**{n: _tuples(v) for n, v in fields.items()})
        given["options"] = MeanOptions(**options)
        read = {n: _tuples(v) for n, v in facts["read"].items()}
        read["times"] = tuple((name, scale_from_facts(scale)) for name, scale in read["times"])
        given["read"] = ReadOptions(**read)
        given["seed"] = int(facts["seed"], 16)
        return cls(**given)


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
