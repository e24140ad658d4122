"""Every command on the demo lake, damaged in four ways: ``python -m tests.statistics.damage_table [folder]``.

For each command and damage: the answer beside that of the clean lake, the words that the clean lake has not,
and the exit code. A cell is right if the answer lies within the clean answer's interval, or has such a word;
others are **wrong**. The lakes are written to the folder (or a temporary one), once.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import distmom as dm
from pipelines.flights import DELAYS, MILLISECONDS, flights, write_lake

CARRIER = "UA"
"""The airline with most flights: 17% of the rows."""

LATE = "late"
"""A label: whether a flight was more than a quarter of an hour late."""


def _changed(table: pa.Table, rows: pa.Array, change: Callable[[pa.Array], Any]) -> pa.Table:
    """The delays of some rows changed, both in the same rows."""
    for name in DELAYS:
        place = table.column_names.index(name)
        table = table.set_column(place, name, pc.if_else(rows, change(table[name]), table[name]))
    return table


def _some(table: pa.Table, share: float) -> pa.Array:
    return pa.array(np.random.default_rng(16).random(table.num_rows) < share)


FILES, CODES, FACTOR, UNIT = "five bad files", "1% are −9999", "2% × 1000", f"{CARRIER} (17%) × 60,000"

DAMAGES: dict[str, Callable[[pa.Table], pa.Table]] = {
    FILES: lambda t: t,  # done where files are written
    CODES: lambda t: _changed(t, _some(t, 0.01), lambda x: -9999.0),
    FACTOR: lambda t: _changed(t, _some(t, 0.02), lambda x: pc.multiply(x, 1000.0)),
    UNIT: lambda t: _changed(t, pc.equal(t["carrier"], CARRIER), lambda x: pc.multiply(x, MILLISECONDS)),
}
"""What is done to the delays; of two lakes that are compared to the second."""


def write_lakes(folder: Path) -> dict[str, Path]:
    """The clean lake, and one for each damage."""
    lakes = {"clean": folder / "clean"} | {name: folder / f"damage-{k}" for k, name in enumerate(DAMAGES)}
    if not all(lake.exists() for lake in lakes.values()):
        table = flights()
        table = table.append_column(LATE, pc.greater(table["arr_delay"], 15.0))  # before anything is damaged
        for name, lake in lakes.items():
            changed = DAMAGES[name](table) if name in DAMAGES else table
            write_lake(changed, lake, damaged=name == FILES)
    return lakes


@dataclass(frozen=True)
class Answer:
    """What a command says: numbers, and how far each may be from those of clean data."""

    numbers: tuple[float, ...]
    within: tuple[tuple[float, float], ...]
    flags: tuple[str, ...]
    no_answer: bool
    name: str = ""


def of_result(found: Any) -> Answer:
    """A number with an interval, or a matrix with one for each entry."""
    numbers = tuple(np.ravel(found.estimate).tolist())
    intervals = getattr(found, "intervals", None)
    ends = [found.interval] if intervals is None else np.asarray(intervals).reshape(-1, 2)
    within = tuple((float(low), float(high)) for low, high in ends)
    return Answer(numbers, within, tuple(map(str, found.flags)), found.status.no_answer)


def root(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A kernel of one's own."""
    return np.sqrt(np.abs(a - b))


OWN = dm.kernels.kernel(root, degree=2)
MODELS = {
    "as it left": lambda row: row["dep_delay"],
    "five minutes less": lambda row: row["dep_delay"] - 5.0,
    "always seven": lambda row: np.full_like(row["dep_delay"], 7.0),
}


def _tournament(lake: Path) -> Answer:
    found = dm.tournament(lake, MODELS, "arr_delay", features="dep_delay", loss="absolute", rng=0)
    best = next(one for one in found if one.name == found.champion)
    places = ("champion", "finalist", "beaten", "cycle")
    words = dict.fromkeys(str(flag) for one in found for flag in (one.status, *one.flags))
    flags = tuple(word for word in words if word not in places)
    return Answer((best.estimate,), (best.interval,), flags, best.status.no_answer, best.name)


def _regression(lake: Path) -> Answer:
    """Intercept and slope; the intervals are a judgement: two minutes and 0.05."""
    model = dm.RobustLinearRegression(random_state=0)
    model.fit(lake, "arr_delay", columns=["dep_delay"])
    slope, start = float(model.coef_[0]), float(model.intercept_)
    flags = tuple(model.flags_)
    within = ((start - 2.0, start + 2.0), (slope - 0.05, slope + 0.05))
    return Answer((start, slope), within, flags, any(dm.Status(flag).no_answer for flag in flags))


def _learned(make: Callable[..., Any], target: str, number: Callable[[Any], float]) -> Any:
    """The number of another learner that belongs to the delay at departure; 1.5 times is a judgement."""

    def ask(lake: Path) -> Answer:
        model = make(random_state=0).fit(lake, target, columns=["dep_delay", "distance"])
        found, flags = number(model), tuple(model.flags_)
        return Answer(
            (found,), ((found / 1.5, found * 1.5),), flags, any(dm.Status(f).no_answer for f in flags)
        )

    return ask


def _compare(lake: Path) -> Answer:
    scans = [dm.scan(lake, where=f"origin = '{name}'") for name in ("JFK", "LGA")]
    return of_result(dm.compare(scans, "arr_delay", statistics="mean", test=dm.Permutations(99), rng=0))


BOTH = ["dep_delay", "arr_delay"]

COMMANDS: dict[str, Callable[[Path], Answer]] = {
    "`mean`": lambda lake: of_result(dm.mean(lake, "arr_delay", rng=0)),
    "`mean`, 101 blocks": lambda lake: of_result(dm.mean(lake, "arr_delay", blocks=101, rng=0)),
    "`difference`": lambda lake: of_result(
        dm.difference(
            dm.scan(lake, where=f"carrier = 'B6' or carrier = '{CARRIER}'"),
            "arr_delay",
            by="carrier",
            control=CARRIER,
            rng=0,
        )
    ),
    "`compare`": _compare,
    "gini": lambda lake: of_result(dm.ustatistic(lake, "arr_delay", kernel="gini", rng=0)),
    "gini, `FileBlocks`": lambda lake: of_result(
        dm.ustatistic(lake, "arr_delay", kernel="gini", blocks=dm.FileBlocks(), rng=0)
    ),
    "gini, `by`": lambda lake: of_result(
        dm.ustatistic(lake, "arr_delay", kernel="gini", by="origin", rng=0)["JFK"]
    ),
    "kendall": lambda lake: of_result(dm.ustatistic(lake, BOTH, kernel="kendall", rng=0)),
    "covariance": lambda lake: of_result(dm.ustatistic(lake, BOTH, kernel="covariance", rng=0)),
    "own kernel": lambda lake: of_result(
        dm.ustatistic(lake, "arr_delay", kernel=OWN, pairs=dm.DisjointPairs(), rng=0)
    ),
    "`tournament`": _tournament,
    "`RobustLinearRegression`": _regression,
    "`RobustLogisticRegression`": _learned(dm.RobustLogisticRegression, LATE, lambda m: float(m.coef_[0, 0])),
    "`PairwiseRanker`": _learned(dm.PairwiseRanker, "arr_delay", lambda m: float(m.coef_[0])),
    "`MahalanobisMetric`": _learned(
        dm.MahalanobisMetric, LATE, lambda m: float(m.get_mahalanobis_matrix()[0, 0] ** 0.5)
    ),
}


@dataclass(frozen=True)
class Cell:
    """An answer beside that of the clean lake."""

    clean: Answer
    found: Answer

    @property
    def within(self) -> bool:
        """Whether every number lies within the clean interval."""
        inside = zip(self.found.numbers, self.clean.within, strict=True)
        return self.found.name == self.clean.name and all(a <= x <= b for x, (a, b) in inside)

    @property
    def words(self) -> tuple[str, ...]:
        """What is said of this lake alone."""
        return tuple(flag for flag in self.found.flags if flag not in self.clean.flags)

    @property
    def wrong(self) -> bool:
        """Neither within nor marked."""
        return not self.within and not self.words

    def text(self) -> str:
        """For a table."""
        code = ", code 5" if self.found.no_answer else ""
        told = f"{shown(self.found)}; {self.words[0] if self.words else 'no word'}{code}"
        return f"**{told}: wrong**" if self.wrong else told if self.within else f"({told})"


def shown(answer: Answer) -> str:
    """The last number, with the name of a champion."""
    number = f"{answer.numbers[-1]:,.0f}" if abs(answer.numbers[-1]) >= 1e4 else f"{answer.numbers[-1]:.4g}"
    return f"{answer.name} {number}".strip()


def cells(lakes: dict[str, Path], command: str) -> dict[str, Cell]:
    """One command on every damaged lake."""
    ask = COMMANDS[command]
    with dm.options(warn=False):
        clean = ask(lakes["clean"])
        return {name: Cell(clean, ask(lakes[name])) for name in DAMAGES}


def main(folder: Path) -> int:
    """Print the table; the number of cells that are wrong."""
    lakes, wrong = write_lakes(folder), 0
    print("| | clean | " + " | ".join(DAMAGES) + " |")
    print("|---" * (len(DAMAGES) + 2) + "|")
    for command in COMMANDS:
        found = cells(lakes, command)
        clean = next(iter(found.values())).clean
        print(
            f"| {command} | {shown(clean)} | " + " | ".join(c.text() for c in found.values()) + " |",
            flush=True,
        )
        wrong += sum(cell.wrong for cell in found.values())
    return wrong


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(main(Path(sys.argv[1])))
    with tempfile.TemporaryDirectory() as temporary:
        sys.exit(main(Path(temporary)))
