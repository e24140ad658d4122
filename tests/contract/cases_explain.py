"""What a call tells before it reads."""

from __future__ import annotations

from typing import Any

import distmom as dm
from tests.contract.cases_mean import SEED, Case


def explained(function: Any, *arguments: Any, **options: Any) -> Case:
    return lambda way: way.explain(function, way.lakes["clean"], *arguments, rng=SEED, **options)


CASES: dict[str, Case] = {
    "explain/mean": explained(dm.mean, "x"),
    "explain/mean, samples": explained(dm.mean, ["x", "y"], scheme="swor", tau=0.3),
    "explain/mean, contaminated": explained(dm.mean, "x", contamination=5, by="key"),
    "explain/mean, repeated": explained(dm.mean, "x", repeats=3, n_blocks=9),
    "explain/ustatistic": explained(dm.ustatistic, "x", kernel="gini"),
    "explain/ustatistic, one by one": explained(
        dm.ustatistic, ["y", "z"], kernel=dm.kernels.rbf(1.0), n_blocks=5
    ),
    "explain/ustatistic, incomplete": explained(
        dm.ustatistic, "x", kernel="gini", pairs="sampled", scheme="swor", n_blocks=7
    ),
    "explain/compare": explained(dm.compare, "x", by="label"),
    "explain/tournament": explained(dm.tournament, ["p0", "p1"], "target"),
    "explain/tournament, pairs": explained(dm.tournament, ["p0", "p1"], "target", loss="ranking"),
    "explain/train": explained(dm.train, "regression", target="target", columns=["y", "z"]),
}
