"""Tables of cells, and what they come to."""

from collections.abc import Iterable, Iterator

import numpy as np

from tests.benchmarks.learn.cells import OURS, PLAIN, Cell, cell, damages
from tests.benchmarks.learn.data_sets import DataSet
from tests.benchmarks.learn.judgement import EQUAL, ERRORS
from tests.benchmarks.learn.learners import LEARNERS

GAP = 0.01

HEAD = (
    "| data | damage | ours | plain | lost to plain | best peer | lost to it | `status_`, flags | "
    "seconds: ours, plain |\n" + "|---" * 9 + "|"
)


def figure(score: float) -> str:
    """Of a score."""
    if not np.isfinite(score):
        return "failed"
    return f"{score:.3f}" if score > -10.0 else "< −10"


def line(found: Cell) -> str:
    """A row of the table; what is best is bold."""
    name = found.best(found.peers) if found.peers else None
    means = {who: found.mean(who) for who in (OURS, PLAIN, *([name] if name else []))}
    top = max(means.values()) - EQUAL
    shown = {who: f"**{figure(mean)}**" if mean >= top else figure(mean) for who, mean in means.items()}
    peer = f"{name} {shown[name]} | {found.lost_to(name)}" if name else "– | –"
    return (
        f"| {found.data.name} | {found.damage} | {shown[OURS]} | {shown[PLAIN]} | {found.lost_to(PLAIN)} | "
        f"{peer} | {found.status} | {found.seconds:.2f}, {found.plain_seconds:.2f} |"
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


def told(found: Cell) -> str:
    """A cell in which we lose."""
    scores = f"{figure(found.mean(OURS))} for {figure(found.mean(PLAIN))}"
    return f"  {found.data.name}, {found.damage}: {scores}, lost {found.lost_to(PLAIN)}; {found.status}"


def summary(cells: list[Cell]) -> Iterator[str]:
    """Sentences: against rivals, against the plain learner, and gaps on clean rows."""
    yield f"worse: by more than {EQUAL} and {ERRORS:g} standard errors of the paired differences"
    for task in LEARNERS:
        of = [one for one in cells if one.data.task == task]
        if not of:
            continue
        rivals = LEARNERS[task]().rivals
        if rivals:
            good = sum(not one.lost_to(one.best(rivals)).worse for one in of)
            names = " and ".join(rivals)
            yield f"{task}: not worse than the best of {names} in {good} of {len(of)} cells"
        peers = sum(not one.lost_to(one.best(one.peers)).worse for one in of if one.peers)
        yield f"{task}: not worse than the best of all peers in {peers} of {len(of)} cells"
        below = [one for one in of if one.lost_to(PLAIN).mean > EQUAL]
        worse = [one for one in below if one.lost_to(PLAIN).worse]
        dirty = sum(one.damage != "clean" for one in worse)
        yield (
            f"{task}: worse than the plain one in {len(worse)} of {len(of)} cells, {dirty} of them damaged; "
            f"{len(below) - len(worse)} more are below by more than {EQUAL}, as chance may be"
        )
        yield from map(told, sorted(worse, key=lambda one: -one.lost_to(PLAIN).mean))
    clean = [one for one in cells if one.damage == "clean" and one.lost_to(PLAIN).mean > GAP]
    yield f"clean cells with a gap of more than {GAP}: {len(clean)}"
    yield from map(told, clean)
