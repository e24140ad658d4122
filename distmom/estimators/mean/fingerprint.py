"""How a saved mean was made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple, get_args

from distmom.designs.blocks import DESIGNS
from distmom.estimators.options import RETIRED_INTERVALS, MeanOptions
from distmom.lake.columns.times import DAY, TimeKind, TimeScale, Unit, kind_of_times
from distmom.lake.source import BATCH_ROWS, BatchReader, ReadOptions
from distmom.reductions.state import MeanState
from distmom.state import Fingerprint, shown
from distmom.state.fingerprint import from_plain, plainly

ROWS = ("nan", "missing")
"""Options that say which rows count: with others, other rows would be in the sums."""

ANSWER = ("interval", "on_bad_file", "passes", "window")
"""Options that the sums do not depend on. All others say which blocks are kept."""


STREAMS = "streams"
"""Stands for the folder of streams, which are no files."""


class LakeCounts(NamedTuple):
    """What blocks may depend on: rows of the lake, rows that pass the filter, and units (such as files)."""

    n_rows: int | None = None
    n_valid: int | None = None
    n_units: int | None = None


@dataclass(frozen=True)
class Made:
    """What the sums of a state depend on.

    Attributes
    ----------
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

    def to_facts(self) -> Any:
        """As JSON carries it."""
        return plainly(self, without=())

    @classmethod
    def from_facts(cls, facts: Any) -> Made:
        """What `to_facts` wrote; an error of Python's if it did not."""
        known: dict[str, Callable[..., Any]] = {one.__name__: one for one in (cls, ReadOptions, *DESIGNS)}
        made: Made = from_plain(facts, known | {"TimeScale": known_scale, "MeanOptions": options_of})
        return made


def options_of(*, interval: str, **facts: Any) -> MeanOptions:
    """The options that JSON carries, those of states of before 0.1.0 with the words of now."""
    return MeanOptions(interval=RETIRED_INTERVALS.get(interval, interval), **facts)


MOST_DAYS = 1 << 40
"""Farther from 1970 than any time that Arrow stores."""


def with_times_of(read: ReadOptions, other: ReadOptions) -> ReadOptions:
    """The options with the scales of columns that were null throughout here, but not there."""
    known = {**dict(other.times), **dict(read.times)}
    return replace(read, times=tuple((name, known[name]) for name in read.columns if name in known))


def recounted(
    state: MeanState | None, columns: Sequence[str], then: ReadOptions, now: ReadOptions
) -> MeanState | None:
    """Sums of these columns, counted from the days of `then`, as counted from those of `now`.

    Means are rounded once more, at 2**-53 of the distance between the days; nothing else changes.
    """
    before, after = then.scales, now.scales
    days = [before[name].base - after[name].base if name in before else 0 for name in columns]
    if state is None or not any(days):
        return state
    return state.moved([float(n * DAY) for n in days])


def known_scale(**facts: Any) -> TimeScale:
    """The scale that JSON carries; an error of Python's if it is none."""
    scale = TimeScale(**facts)
    words = scale.kind in get_args(TimeKind) and scale.unit in get_args(Unit)
    if not words or not isinstance(scale.zone, str | None):
        raise ValueError(f"{facts!r} is not a scale of times")
    if type(scale.base) is not int or abs(scale.base) > MOST_DAYS:
        raise ValueError(f"{scale.base!r} is not a day")
    return scale
