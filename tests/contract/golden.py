"""The golden answers: one line of JSON for each case."""

from __future__ import annotations

import json
import math
import platform
from importlib.metadata import version
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_info  # comes with scikit-learn

FILE = Path(__file__).with_name("golden.json")

THROUGH_LIBM = (
    *("interval", "intervals", "plain_interval", "radius", "actual_level", "p_value", "p_holm"),
    *(
        "control_interval",
        "variant_interval",
        "lift_interval",
        "exact interval",
        "cantelli",
        "closed-form",
        "order",
    ),
)
"""Fields that come through SciPy's special functions, powers and roots that are sought until they are close:
other releases and processors may give other last bits."""

THROUGH_BLAS = ("learn/", "train/", "ustatistic/cov", "ustatistic/corr", "ustatistic/gauss", "ustatistic/lap")
"""Cases with products of matrices or exponentials: other processors may give other last bits everywhere."""

CLOSE = 1e-9


def made_with() -> dict[str, str]:
    """What last bits may depend on beside our own code."""
    found = {name: version(name) for name in ("scipy", "numba", "scikit-learn")}
    found["numpy"] = np.__version__  # loaded, so that its library of matrix products is known below
    kinds = {one["architecture"] for one in threadpool_info() if "architecture" in one}
    found["blas"] = " ".join(sorted(kinds))
    return {**found, "machine": platform.machine()}


def read() -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """What the answers were made with, and the answers."""
    both = json.loads(FILE.read_text()) if FILE.exists() else {"made with": {}, "answers": {}}
    return both["made with"], both["answers"]


def write(answers: dict[str, dict[str, str]]) -> None:
    """Sorted, one line a case."""
    lines = [f"{json.dumps(name)}: {json.dumps(answers[name], sort_keys=True)}" for name in sorted(answers)]
    head = json.dumps(made_with(), sort_keys=True)
    FILE.write_text(f'{{"made with": {head}, "answers": {{\n' + ",\n".join(lines) + "\n}}\n")


def differences(name: str, want: dict[str, str], found: dict[str, str], *, same_machine: bool) -> list[str]:
    """One line for each field that differs.

    Where the golden answers were made with other libraries, last bits may differ in the fields and cases that
    are named above.
    """
    told = []
    for key in sorted({*want, *found}):
        a, b = want.get(key, "nothing"), found.get(key, "nothing")
        if a == b:
            continue
        loose = name.startswith(THROUGH_BLAS) or key.rsplit("/", 1)[-1] in THROUGH_LIBM
        if not same_machine and loose and _close(a, b, 1e-6 if name.startswith(THROUGH_BLAS) else CLOSE):
            continue
        told.append(f"{name}: {key} was {a} and is {b}")
    return told


def _close(a: str, b: str, tolerance: float) -> bool:
    """Whether all numbers of two texts agree but for their last bits; hashes of arrays tell nothing."""
    if ":" in a and ":" in b:
        return a.split(":")[0] == b.split(":")[0]
    one, two = a.split(), b.split()
    return len(one) == len(two) and all(
        x == y or _close_numbers(x, y, tolerance) for x, y in zip(one, two, strict=True)
    )


def _close_numbers(a: str, b: str, tolerance: float) -> bool:
    try:
        # what is 0 on one processor is rounding on another, in cases that go through BLAS
        least = 1e-300 if tolerance <= CLOSE else 1e-13
        return math.isclose(float.fromhex(a), float.fromhex(b), rel_tol=tolerance, abs_tol=least)
    except ValueError:
        return False
