"""Time and memory of steps, on rows in memory and in files, beside a loop of NumPy."""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np


def write_lake(folder: Path, rows: int, files: int = 16) -> None:
    """Float32 features and labels of two classes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True)
    for number in range(files):
        g = np.random.default_rng([1, number])
        X = g.normal(size=(rows // files, 16)).astype("f4")
        y = (X[:, 0] + X[:, 1] > 0).astype("i4")
        table = pa.table({**{f"f{j}": X[:, j] for j in range(16)}, "label": y})
        pq.write_table(table, folder / f"part-{number:03}.parquet", row_group_size=250_000)


RUN = """
import re, sys, time
import distmom as dm

def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1e3

def run(client):
    mode, folder, steps, size, limit = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])
    began = time.perf_counter()
    model = dm.MahalanobisMetric(random_state=0, block_size=size, max_iter=steps, early_stopping=False)
    executor = dm.Cluster(client) if client else dm.Threads(memory_limit=limit)
    model.fit(folder, "label", mode=mode, executor=executor)
    peaks = list(client.run(peak).values()) if client else [peak()]
    whole = time.perf_counter() - began
    bits = model.components_.tobytes().hex()[:16]
    print(whole, 1e3 * model.step_seconds_, max(peaks), peak(), bits, model.mode_reason_, sep="|")

if __name__ == "__main__":
    if int(sys.argv[6]):
        from distributed import Client
        with Client(n_workers=int(sys.argv[6]), threads_per_worker=1, memory_limit="1GB") as client:
            run(client)
    else:
        run(None)
"""


def steps(folder: Path, rows: int, size: int, n_steps: int) -> None:
    """Time of a step in both modes, on threads and on workers of 1 GB, beside a loop of NumPy; memory."""
    if not folder.exists():
        write_lake(folder, rows)
    print(f"{rows:,} rows of 16 float32 features, {n_steps} steps of 11 blocks of {size} rows")
    for mode, limit, workers in (("resident", 20e9, 0), ("streaming", 2e9, 0), ("streaming", 0, 2)):
        words = [RUN, mode, str(folder), str(n_steps), str(size), str(int(limit)), str(workers)]
        out = subprocess.run(
            [sys.executable, "-c", *words], capture_output=True, text=True, check=True
        ).stdout.split("|")
        where = f"{workers} workers, at most {float(out[2]):.0f} MB each" if workers else "threads"
        print(
            f"{mode}, {where}: {float(out[1]):.1f} ms a step, {float(out[0]):.1f} s in all, this process "
            f"{float(out[3]):.0f} MB, model {out[4]}; {out[5].strip()}",
            flush=True,
        )
    seconds = numpy_loop(folder, size, min(n_steps, 200))
    print(f"NumPy loop on the same data in memory: {1e3 * seconds:.1f} ms a step")


def numpy_loop(folder: Path, size: int, n_steps: int) -> float:
    """What one would write: random rows, pairwise losses of blocks, the gradient of the median block."""
    import pyarrow.parquet as pq

    files = [pq.read_table(file) for file in sorted(folder.iterdir())]
    X = np.concatenate([np.stack([t[f"f{j}"].to_numpy() for j in range(16)], axis=1) for t in files])
    y = np.concatenate([t["label"].to_numpy() for t in files])
    g, M = np.random.default_rng(0), np.eye(16) / 32
    began = time.perf_counter()
    for t in range(n_steps):
        rows = g.integers(0, len(X), (11, size))
        losses, kept = [], []
        for block in rows:
            x, s = X[block].astype(float), np.where(y[block][:, None] == y[block], 1.0, -1.0)
            G = x @ M @ x.T
            z = 1.0 + s * (np.diag(G)[:, None] + np.diag(G) - 2 * G - 2.0)
            losses.append(np.maximum(z, 0.0).sum() / (size * (size - 1)))
            kept.append((x, np.where(z > 0, s, 0.0)))
        x, W = kept[int(np.argsort(losses)[5])]
        gradient = 2 * (x.T @ (np.diag(W.sum(1)) - W) @ x) / (size * (size - 1))
        values, vectors = np.linalg.eigh(M - 0.02 / np.sqrt(1 + t / 20) * gradient)
        M = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return (time.perf_counter() - began) / n_steps
