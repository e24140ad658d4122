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
"""Options that decide which rows count, and so which rows are in the sums."""

ANSWER = ("interval", "on_bad_file", "passes", "window")
"""Options that do not affect the sums. All others decide which blocks are kept."""


STREAMS = "streams"
"""Placeholder for the folder of streams, which are not files."""


class LakeCounts(NamedTuple):
    """Counts blocks may depend on: rows of the lake, rows that pass the filter, units (such as files)."""

    n_rows: int | None = None
    n_valid: int | None = None
    n_units: int | None = None


@dataclass(frozen=True)
class Made:
    """Everything on which the sums of a state depend.

    Attributes
    ----------
    read : ReadOptions
        What was read from each file, except for the filter.
    where, condition : str or None
        The filter as shown, and the form used for comparison.
    seed : int
        128 bits.
    shown_seed : int or str
        The seed as results print it.
    roots : tuple of str
        Folders from which the files' paths start, which key all draws; one, or several after a merge.
    partitions : tuple of (str, str)
        Types of the requested columns that come from folder names.
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
        """The description of a run with this reader."""
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
        """The part that is compared; units are among the options."""
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
        """Convert to JSON facts."""
        return plainly(self, without=())

    @classmethod
    def from_facts(cls, facts: Any) -> Made:
        """Read what `to_facts` wrote; a Python error if the facts are not valid."""
        known: dict[str, Callable[..., Any]] = {one.__name__: one for one in (cls, ReadOptions, *DESIGNS)}
        made: Made = from_plain(facts, known | {"TimeScale": known_scale, "MeanOptions": options_of})
        return made


def options_of(*, interval: str, **facts: Any) -> MeanOptions:
    """The options from JSON; states from before 0.1.0 are read with the present words."""
    return MeanOptions(interval=RETIRED_INTERVALS.get(interval, interval), **facts)


MOST_DAYS = 1 << 40
"""Farther from 1970 than any time that Arrow can store."""


def with_times_of(read: ReadOptions, other: ReadOptions) -> ReadOptions:
    """The options, with scales from `other` for columns that are all null here but not there."""
    known = {**dict(other.times), **dict(read.times)}
    return replace(read, times=tuple((name, known[name]) for name in read.columns if name in known))


def recounted(
    state: MeanState | None, columns: Sequence[str], then: ReadOptions, now: ReadOptions
) -> MeanState | None:
    """Convert sums of these columns from the days of `then` to the days of `now`.

    Means are rounded once more, by 2**-53 of the distance between the days; nothing else changes.
    """
    before, after = then.scales, now.scales
    days = [before[name].base - after[name].base if name in before else 0 for name in columns]
    if state is None or not any(days):
        return state
    return state.moved([float(n * DAY) for n in days])


def known_scale(**facts: Any) -> TimeScale:
    """The scale from JSON; a Python error if it is not valid."""
    scale = TimeScale(**facts)
    words = scale.kind in get_args(TimeKind) and scale.unit in get_args(Unit)
    if not words or not isinstance(scale.zone, str | None):
        raise ValueError(f"{facts!r} is not a scale of times")
    if type(scale.base) is not int or abs(scale.base) > MOST_DAYS:
        raise ValueError(f"{scale.base!r} is not a day")
    return scale
