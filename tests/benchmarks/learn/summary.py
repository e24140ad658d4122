"""Tables of cells, and what they come to."""

from collections.abc import Iterable, Iterator

import numpy as np

from tests.benchmarks.learn.cells import Cell, cell, damages
from tests.benchmarks.learn.data_sets import DataSet
from tests.benchmarks.learn.learners import LEARNERS

EQUAL = 0.005
"""Differences of scores that are none."""

GAP = 0.01

HEAD = (
    "| data | damage | ours | plain | best peer | `status_`, flags | seconds: ours, plain |\n"
    + "|---" * 7
    + "|"
)


def figure(score: float) -> str:
    """Of a score."""
    if not np.isfinite(score):
        return "failed"
    return f"{score:.3f}" if score > -10.0 else "< −10"


def line(found: Cell) -> str:
    """A row of the table; what is best is bold."""
    name, best = found.best if found.peers else ("–", -np.inf)
    top = max(found.ours, found.plain, best) - EQUAL
    texts = [f"**{figure(x)}**" if x >= top else figure(x) for x in (found.ours, found.plain, best)]
    return (
        f"| {found.data.name} | {found.damage} | {texts[0]} | {texts[1]} | {name} {texts[2]} | "
        f"{found.status} | {found.seconds:.2f}, {found.plain_seconds:.2f} |"
    )


def run(sets: Iterable[DataSet], n_seeds: int, few: bool = False, rivals: bool = False) -> list[Cell]:
    """Fill and print the table; `few`: only the clean cells and those of 5%."""
    print(HEAD, flush=True)
    cells = []
    for one in sets:
        for name, share in damages():
            if few and share not in (0.0, 0.05):
                continue
            found = cell(one, name, share, n_seeds, rivals)
            if found is not None:
                cells.append(found)
                print(line(found), flush=True)
    return cells


def summary(cells: list[Cell]) -> Iterator[str]:
    """Sentences: against rivals, against the plain learner, and gaps on clean rows."""
    for task in LEARNERS:
        of = [one for one in cells if one.data.task == task]
        if not of:
            continue
        rivals = LEARNERS[task]().rivals
        if rivals:
            good = sum(one.ours >= max(one.peers[who] for who in rivals) - EQUAL for one in of)
            names = " and ".join(rivals)
            yield f"{task}: at least as good as the best of {names} in {good} of {len(of)} cells"
        peers = sum(one.ours >= one.best[1] - EQUAL for one in of if one.peers)
        yield f"{task}: at least as good as the best of all peers in {peers} of {len(of)} cells"
        worse = [one for one in of if one.ours < one.plain - EQUAL]
        dirty = sum(one.damage != "clean" for one in worse)
        yield f"{task}: worse than the plain one in {len(worse)} of {len(of)} cells, {dirty} of them damaged"
        for one in sorted(worse, key=lambda one: one.ours - one.plain):
            yield f"  {one.data.name}, {one.damage}: {figure(one.ours)} for {figure(one.plain)}; {one.status}"
    clean = [one for one in cells if one.damage == "clean" and one.plain - one.ours > GAP]
    yield f"clean cells with a gap of more than {GAP}: {len(clean)}"
    for one in clean:
        yield f"  {one.data.name}: {figure(one.ours)} for {figure(one.plain)}; {one.status}"
