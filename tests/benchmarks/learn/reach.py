"""Seconds until a linear model of a lake that is not held in memory explains what least squares do.

Each number of steps is a fit in a process of its own, from the survey of the columns to the model; the plain
model solves the normal equations of one pass over the files. Peaks of memory are those of the processes; a
quarter of the rows is fitted, too, which tells whether memory grows with the lake. The last fit is repeated
with all rows in memory, which must not change a bit. Another checkout may be measured on the same lake.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

FEATURES, ENOUGH, FILES = 16, 0.99, 16
STEPS = (10, 30, 100, 300, 1_000)
RESIDENT = 16e9
"""Bytes of memory where all rows are held."""

RUN = """
import json, re, resource, sys, time, warnings
warnings.simplefilter("ignore")
import distmom as dm

folder, steps, limit, mode = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4]
began = time.perf_counter()
model = dm.RobustLinearRegression(random_state=0, max_iter=steps)
executor = dm.Threads(2, memory_limit=int(limit))
model.fit(folder, "y", mode=mode, executor=executor)
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({
    "seconds": time.perf_counter() - began,
    "cpu": used.ru_utime + used.ru_stime,
    "MB": int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1e3,
    "w": [*model.coef_.tolist(), model.intercept_],
    "status": model.status_,
    "steps": model.n_iter_,
}))
"""


def drawn(seed: list[int], n: int) -> tuple[np.ndarray, np.ndarray]:
    """Features of which each two have correlation 1/2, and targets that they explain to 80%."""
    g = np.random.default_rng(seed)
    X = (g.normal(size=(n, FEATURES)) + g.normal(size=(n, 1))).astype("f4")
    w = np.linspace(-1.0, 1.0, FEATURES)
    sd = np.sqrt(float(w @ w + w.sum() ** 2) / 4.0)
    return X, (X @ w + 3.0 + sd * g.normal(size=n)).astype("f4")


def write(folder: Path, rows: int) -> None:
    """The lake, unless it is there."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    for number in range(FILES):
        path = folder / f"part-{number:03}.parquet"
        if not path.exists():
            X, y = drawn([1, number], rows // FILES)
            table = pa.table({**{f"f{j:02}": X[:, j] for j in range(FEATURES)}, "y": y})
            pq.write_table(table, path, row_group_size=250_000)


def plain(folder: Path) -> np.ndarray:
    """Slopes and intercept of least squares, one batch of rows after the other."""
    import pyarrow.dataset as ds

    A, b = np.zeros((FEATURES + 1, FEATURES + 1)), np.zeros(FEATURES + 1)
    for batch in ds.dataset(folder).to_batches():
        columns = [batch.column(j).to_numpy().astype(float) for j in range(FEATURES + 1)]
        X = np.stack([*columns[:-1], np.ones(len(columns[0]))], axis=1)
        A += X.T @ X
        b += X.T @ columns[-1]
    return np.linalg.solve(A, b)


def r2(w: Any) -> float:
    """On 200,000 rows of no file."""
    X, y = drawn([2], 200_000)
    away = X @ np.array(w[:-1]) + w[-1] - y
    return 1.0 - float((away**2).mean() / y.var())


def fitted(folder: Path, steps: int, limit: float, source: Path, mode: str = "streaming") -> dict[str, Any]:
    """What a fit of so many steps found and took, by the package in the folder `source`."""
    words = [sys.executable, "-c", RUN, str(folder.resolve()), str(steps), str(limit), mode]
    here = {"cwd": source, "env": {**os.environ, "PYTHONPATH": str(source.resolve())}}
    found: dict[str, Any] = json.loads(
        subprocess.run(words, capture_output=True, text=True, check=True, **here).stdout
    )
    return found


def reach(folder: Path, rows: int, limit: float, source: Path) -> None:
    """The table, and the seconds of the first fit that is good enough."""
    lakes = {n: folder / f"rows-{n}" for n in (rows // 4, rows)}
    for n, lake in lakes.items():
        write(lake, n)
    began = time.perf_counter()
    with threadpool_limits(1, "blas"):  # products of small matrices: threads would wait for one another
        right = r2(plain(lakes[rows]))
    took = time.perf_counter() - began
    print(f"{rows:,} rows of {FEATURES} float32 features; least squares: R² {right:.4f}, {took:.1f} s")
    small = fitted(lakes[rows // 4], STEPS[0], limit, source)
    print(f"a quarter of the rows, {STEPS[0]} steps: {small['seconds']:.1f} s, {small['MB']:.0f} MB")
    print("| steps | R² | seconds | processor seconds | MB | `status_` |\n" + "|---" * 6 + "|", flush=True)
    enough = None
    for steps in STEPS:
        one = fitted(lakes[rows], steps, limit, source)
        score = r2(one["w"])
        print(
            f"| {one['steps']} | {score:.4f} | {one['seconds']:.1f} | {one['cpu']:.1f} | {one['MB']:.0f} | "
            f"{one['status']} |",
            flush=True,
        )
        if enough is None and score >= ENOUGH * right:
            enough = f"{one['seconds']:.1f} s, {one['cpu']:.1f} s of processor time"
        if one["steps"] < steps:
            break
    print(f"to {ENOUGH} of the R² of least squares: {enough or 'never'}")
    held = fitted(lakes[rows], steps, RESIDENT, source, "resident")
    same = "the same bits" if held["w"] == one["w"] else "other bits"
    print(f"in memory: {same}, {held['seconds']:.1f} s, {held['cpu']:.1f} s of processor time")
