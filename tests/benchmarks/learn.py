"""The learners beside scikit-learn and metric-learn, on clean and dirty data; time and memory of steps.

    python -m tests.benchmarks.learn accuracy [--seeds 10]                 # the table in docs/performance
    python -m tests.benchmarks.learn steps FOLDER [--rows 20000000]

Nothing here is asserted.
"""

import argparse
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

SHARE = 0.05
"""Rows that are displaced by a normal vector of 20 times the standard deviation of each feature."""

Data = tuple[np.ndarray, np.ndarray]

One = Callable[[int, Data, Data], float]
"""A figure from a seed, rows to train on and rows to test on."""


def damaged(X: np.ndarray, seed: int, share: float) -> np.ndarray:
    """Training rows, some of them displaced."""
    g = np.random.default_rng(seed)
    X = X.copy()
    bad = g.choice(len(X), round(share * len(X)), replace=False)
    X[bad] += g.normal(0.0, 20.0, (bad.size, X.shape[1])) * (X.std(axis=0) + 1e-9)
    return X


def split(X: np.ndarray, y: np.ndarray, seed: int, share: float, labels: bool) -> tuple[Data, Data]:
    """Damaged rows to train on, clean ones to test on."""
    from sklearn.model_selection import train_test_split

    parts = train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y if labels else None)
    return (damaged(parts[0], seed, share), parts[2]), (parts[1], parts[3])


def nearest(transform: Callable[..., Any], train: Data, test: Data) -> float:
    """Accuracy of five neighbours in a learned space."""
    from sklearn.neighbors import KNeighborsClassifier

    return float(
        KNeighborsClassifier(5).fit(transform(train[0]), train[1]).score(transform(test[0]), test[1])
    )


def metric_learn() -> Any:
    """The package, which calls an argument of scikit-learn by the name that it had before version 1.8."""
    import metric_learn as ml
    from metric_learn import _util

    for name in ("check_array", "check_X_y"):
        checked = getattr(_util, name)
        if getattr(checked, "renamed", False):
            continue

        def renamed(*words: Any, checked: Callable[..., Any] = checked, **named: Any) -> Any:
            if "force_all_finite" in named:
                named["ensure_all_finite"] = named.pop("force_all_finite")
            return checked(*words, **named)

        renamed.renamed = True  # type: ignore[attr-defined]
        setattr(_util, name, renamed)
    return ml


def metrics(seed: int) -> dict[str, Callable[[Data], Callable[..., Any]]]:
    """Ways to learn a metric: the training rows in, a map of rows out."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    import distmom as dm

    ml = metric_learn()

    def ours(**options: Any) -> Callable[[Data], Callable[..., Any]]:
        return lambda d: dm.MahalanobisMetric(random_state=seed, **options).fit(*d).transform

    def theirs(learner: Any) -> Callable[[Data], Callable[..., Any]]:
        return lambda d: make_pipeline(StandardScaler(), learner).fit(*d).transform

    return {
        "MahalanobisMetric": ours(),
        "the same, plain mini-batch": ours(aggregator="plain", clip=np.inf),
        "no metric, scaled": lambda d: StandardScaler().fit(d[0]).transform,
        "metric-learn NCA": theirs(ml.NCA(max_iter=100, random_state=seed)),
        "metric-learn LMNN": theirs(ml.LMNN(max_iter=100, random_state=seed)),
        "metric-learn ITML": theirs(ml.ITML_Supervised(random_state=seed, max_iter=100)),
        "metric-learn RCA": theirs(ml.RCA_Supervised(n_chunks=40, random_state=seed)),
    }


def accuracy(n_seeds: int) -> None:
    """The table of docs: mean over seeds on clean test rows, trained on clean and on damaged rows."""
    from sklearn import datasets

    sets = {
        "iris": datasets.load_iris,
        "wine": datasets.load_wine,
        "breast cancer": datasets.load_breast_cancer,
        "digits": datasets.load_digits,
    }
    print(
        f"| five neighbours, accuracy (clean / {SHARE:.0%} of the rows displaced) | "
        + " | ".join(sets)
        + " |"
    )
    print("|---" * (len(sets) + 1) + "|")
    for name in metrics(0):
        cells = []
        for load in sets.values():
            X, y = load(return_X_y=True)
            cells.append(
                compared(lambda s, d, t, name=name: nearest(metrics(s)[name](d), d, t), X, y, n_seeds, True)
            )
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    linear(n_seeds)


def compared(one: One, X: np.ndarray, y: np.ndarray, n_seeds: int, labels: bool) -> str:
    """Means over seeds: clean / damaged; what fails is told."""
    shown = []
    for share in (0.0, SHARE):
        found = []
        for seed in range(n_seeds):
            train, test = split(X, y, seed, share, labels)
            try:
                found.append(one(seed, train, test))
            except (ValueError, RuntimeError, np.linalg.LinAlgError):
                continue
        missing = n_seeds - len(found)
        text = f"{np.mean(found):.3f}" if found else "–"
        shown.append(text + (f" ({missing} failed)" if missing else ""))
    return " / ".join(shown)


def auc(model: Callable[[int], Any], score: str) -> One:
    """How well scores rank the classes of the test rows."""
    from sklearn.metrics import roc_auc_score

    return lambda s, d, t: float(roc_auc_score(t[1], getattr(model(s).fit(*d), score)(t[0])))


def error(model: Callable[[int], Any]) -> One:
    """Median absolute error on the test rows."""
    return lambda s, d, t: float(np.median(np.abs(model(s).fit(*d).predict(t[0]) - t[1])))


def hits(model: Callable[[int], Any]) -> One:
    """Accuracy on the test rows."""
    return lambda s, d, t: float(model(s).fit(*d).score(*t))


class Linear(NamedTuple):
    """A linear learner on a data set."""

    what: str
    learner: str
    one: One
    data: Data
    labels: bool


def linear_cases() -> list[Linear]:
    """Ranking, classification and regression, each by our learner and by scikit-learn's."""
    from sklearn import datasets
    from sklearn.linear_model import HuberRegressor, LinearRegression, LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    import distmom as dm

    logistic = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    huber = make_pipeline(StandardScaler(), HuberRegressor(max_iter=1000))
    ranking = [
        ("PairwiseRanker", auc(lambda s: dm.PairwiseRanker(random_state=s), "predict")),
        ("LogisticRegression", auc(lambda s: logistic, "decision_function")),
    ]
    classes = [
        ("RobustLogisticRegression", hits(lambda s: dm.RobustLogisticRegression(random_state=s))),
        ("LogisticRegression", hits(lambda s: logistic)),
    ]
    regression = [
        ("RobustLinearRegression", error(lambda s: dm.RobustLinearRegression(random_state=s))),
        ("LinearRegression", error(lambda s: LinearRegression())),
        ("HuberRegressor", error(lambda s: huber)),
    ]
    cancer, digits, diabetes = (
        load(return_X_y=True)
        for load in (datasets.load_breast_cancer, datasets.load_digits, datasets.load_diabetes)
    )
    return [
        *(Linear("AUC, breast cancer", *named, cancer, True) for named in ranking),
        *(Linear("accuracy, digits", *named, digits, True) for named in classes),
        *(Linear("median error, diabetes", *named, diabetes, False) for named in regression),
    ]


def linear(n_seeds: int) -> None:
    """The second table of docs/performance/learners.md."""
    print("\n| what | learner | clean / displaced |\n|---|---|---|")
    for case in linear_cases():
        shown = compared(case.one, *case.data, n_seeds, case.labels)
        print(f"| {case.what} | {case.learner} | {shown} |", flush=True)


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


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("accuracy")
    one.add_argument("--seeds", type=int, default=10)
    two = commands.add_parser("steps")
    two.add_argument("folder", type=Path)
    two.add_argument("--rows", type=int, default=20_000_000)
    two.add_argument("--block-size", type=int, default=768, help="768: 1 MB a step")
    two.add_argument("--steps", type=int, default=300)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.command == "accuracy":
        accuracy(given.seeds)
    else:
        steps(given.folder, given.rows, given.block_size, given.steps)


if __name__ == "__main__":
    main()
