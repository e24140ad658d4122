"""Calls that must be refused: the class of the failure and its exit code, whatever the sentence says."""

from __future__ import annotations

from typing import Any

import numpy as np

import distmom as dm
from tests.contract.cases_mean import Case, copied
from tests.contract.ways import Way


def refused(function: Any, *arguments: Any, lake: str = "clean", **options: Any) -> Case:
    return lambda way: way.run(function, way.lakes[lake], *arguments, rng=0, **options)


def changed(way: Way) -> Any:
    """A state, and a file that is gone."""
    folder = copied(way, "lake", range(6))
    way.run(dm.mean, folder, "y", rng=0, state=way.scratch / "state")
    (folder / "part=1" / "05.parquet").unlink()
    return way.run(dm.mean, folder, "y", rng=0, state=way.scratch / "state")


def no_state(way: Way) -> Any:
    (way.scratch / "state").write_bytes(b"nothing")
    return dm.merge_states(way.scratch / "state")


CASES: dict[str, Case] = {
    "refused/no such column": refused(dm.mean, "nowhere"),
    "refused/a column of texts": refused(dm.mean, "key"),
    "refused/blocks and their size": refused(dm.mean, "x", n_blocks=5, block_size=10),
    "refused/zero blocks": refused(dm.mean, "x", n_blocks=0),
    "refused/a level of one": refused(dm.mean, "x", confidence_level=1.0),
    "refused/half of the rows": refused(dm.mean, "x", contamination=0.5),
    "refused/more outliers than half": refused(dm.mean, "x", contamination=1_000),
    "refused/no rows": refused(dm.mean, "x", where="u > 2"),
    "refused/a filter that is none": refused(dm.mean, "x", where="u >"),
    "refused/NaN is an error": refused(dm.mean, "x", nan="raise"),
    "refused/a damaged file": refused(dm.mean, "y", lake="spoilt"),
    "refused/negative weights": refused(dm.mean, "x", weights="y", lake="bad file"),
    "refused/too little memory": lambda way: dm.mean(
        way.lakes["clean"], "x", executor=dm.Threads(1, memory_limit="1kB")
    ),
    "refused/no such folder": lambda way: way.run(dm.mean, way.scratch / "nowhere", "x"),
    "refused/nothing but NaN": lambda way: way.run(dm.mean, {"x": np.full(50, np.nan)}, "x"),
    "refused/a file is gone": changed,
    "refused/no state": no_state,
    "refused/no such kernel": refused(dm.ustatistic, "x", kernel="ginni"),
    "refused/one sample of two": refused(dm.ustatistic, "x", kernel="auc"),
    "refused/too many pairs": refused(
        dm.ustatistic, ["y", "z"], kernel="distance", n_blocks=3, pair_budget=1_000
    ),
    "refused/disjoint pairs with weights": refused(
        dm.ustatistic, "x", kernel="gini", pairs="disjoint", weights="w"
    ),
    "refused/two samples of three values": refused(dm.compare, "x", by="group"),
    "refused/no such control": refused(dm.difference, "y", by="arm", control="oldest"),
    "refused/no candidates": refused(dm.tournament, [], "target"),
    "refused/a level that leaves nobody": refused(dm.tournament, ["p0", "p1"], "target", beta_r=-1.0),
    "refused/no columns to describe": refused(dm.describe, ["nowhere"]),
    "refused/no such learner": refused(dm.train, "forest", target="target"),
}
