"""A model from a lake, in one call: what the command and the batch job do."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from distmom.errors import ConfigError, ResourceError
from distmom.estimators.facts import run_facts
from distmom.estimators.learn.data import DataOptions, data_options_of, open_rows
from distmom.estimators.learn.learner import Learner
from distmom.estimators.learn.model_files import check_model_folder, class_of, save_model
from distmom.estimators.options import check_choice
from distmom.estimators.recorded import recorded
from distmom.lake.files.atomic import atomic_file
from distmom.passes.opening import Names
from distmom.report.train_result import TrainResult

if TYPE_CHECKING:
    from distmom.cluster import Progress

LEARNERS = {
    "metric": "MahalanobisMetric",
    "ranking": "PairwiseRanker",
    "regression": "RobustLinearRegression",
    "classification": "RobustLogisticRegression",
    "clustering": "RobustKMeans",
}
"""Words for the learners."""

CURVES = (".csv", ".parquet", ".svg")


@recorded
def train(
    data: Any,
    learner: str,
    *,
    target: str | None = None,
    columns: Names = None,
    where: Any = None,
    options: dict[str, Any] | None = None,
    model: str | os.PathLike[str] | None = None,
    curve: str | os.PathLike[str] | list[str] | None = None,
    missing: str = "error",
    nan: str = "omit",
    on_bad_file: str = "error",
    mode: str = "auto",
    compute: str = "auto",
    rng: Any = None,
    state: str | os.PathLike[str] | None = None,
    checkpoint_seconds: float = 30.0,
    client: Any = None,
    workers: int | None = None,
    scheduler: str | None = None,
    threads: int | None = None,
    memory_limit: int | str | None = None,
    storage_options: Mapping[str, object] | None = None,
    progress: Progress | None = None,
) -> TrainResult:
    """Learn a model from a lake by robust gradient descent, and write it.

    Parameters
    ----------
    data : path, glob, list of paths, Arrow table, frame, …
        As for `distmom.mean`.
    learner : {"metric", "ranking", "regression", "classification", "clustering"}
        `MahalanobisMetric`, `PairwiseRanker`, `RobustLinearRegression`, `RobustLogisticRegression` or
        `RobustKMeans`.
    target : str, optional
        Column of labels, outcomes or targets (default ``label``, ``target`` or ``y``): numbers; labels may
        also be true and false or text.
    columns : str or list of str, optional
        Features; by default all columns of numbers but the target.
    options : dict, optional
        Parameters of the learner.
    model : str or path, optional
        Folder to write the model to, as JSON and .npy; see `save_model`.
    curve : str, path or list of them, optional
        Files for the learning curve: a table (.csv, .parquet) or a picture (.svg).
    rng : int, SeedSequence, Generator or None
        The learner's ``random_state``.
    state : str, path or State, optional
        File of checkpoints, written every `checkpoint_seconds` and at the end: a run that was interrupted
        goes on from it with the same bits.
    where, missing, nan, on_bad_file, mode, compute
        As for ``fit`` of the learners.
    client, workers, scheduler, threads, memory_limit, storage_options, progress
        As for `distmom.mean`.

    Returns
    -------
    TrainResult

    Raises
    ------
    ConfigError
        If an option is wrong, or model or curve cannot be written there.
    DataError
        If the data cannot be read, or its targets cannot be learned from.
    NoAnswerError
        If there are too few rows, or half or more of the blocks of a step have no finite loss.
    """
    read = {
        name: value
        for name, value in locals().items()
        if name in DataOptions.__dataclass_fields__ and value is not None
    }
    machine = make_learner(learner, options, rng)
    curves = [check_curve(path) for path in _several(curve)]
    if model is not None:
        check_model_folder(model)
    started = time.perf_counter()
    machine.fit(_as_lake(data), target, **read)
    found = _result(machine, time.perf_counter() - started)
    if model is not None:
        save_model(machine, model)
    for path in curves:
        write_curve(found, path)
    return found


def explain_train(data: Any, learner: str, **arguments: Any) -> dict[str, Any]:
    """What `train` with the same arguments would read, without reading rows.

    Returns
    -------
    dict
        Learner, files, bytes, rows, columns, mode and why, blocks and their rows, steps.
    """
    options, rng = arguments.pop("options", None), arguments.pop("rng", 0)
    target = arguments.pop("target", None)
    for path in _several(arguments.pop("curve", None)):
        check_curve(path)
    folder = arguments.pop("model", None)
    if folder is not None:
        check_model_folder(folder)
    machine = make_learner(learner, options, rng)
    read = data_options_of({k: v for k, v in arguments.items() if v is not None})
    with open_rows(_as_lake(data), target, machine._wanted(), read, plan_only=True) as (_, facts, _):
        shape = machine._options().shape(facts.n_rows, machine._least_size(len(facts.names)))
    return {
        "learner": type(machine).__name__,
        "n_files": facts.data["n_files"],
        "n_bytes": facts.data["n_bytes"],
        "n_rows": facts.n_rows,
        "columns": list(facts.names),
        "target": facts.target,
        "mode": facts.mode,
        "mode_reason": facts.reason,
        "n_blocks": shape.n_blocks,
        "block_size": shape.block_size,
        "n_held_out_blocks": shape.n_held_out,
        "max_iter": machine._options().max_iter,
    }


def make_learner(learner: str, options: dict[str, Any] | None, rng: Any) -> Learner:
    """The learner of that word with these parameters."""
    check_choice("learner", learner, tuple(LEARNERS))
    kind = class_of(LEARNERS[learner])
    known = kind().get_params()
    for name in options or {}:
        if name not in known or name == "random_state":
            there = ", ".join(n for n in known if n != "random_state")
            raise ConfigError(f"{name}: is no option of {kind.__name__}; there are {there}")
    return kind(**(options or {}), random_state=rng)


def check_curve(path: str | os.PathLike[str]) -> Path:
    """The path, once its ending and folder are known to be good."""
    target = Path(path)
    if target.suffix.lower() not in CURVES:
        raise ConfigError(f"curve {str(path)!r}: the ending must be one of {', '.join(CURVES)}")
    if not target.absolute().parent.is_dir() or target.is_dir():
        raise ConfigError(f"curve {str(path)!r}: must be a file in a folder that exists")
    return target


def write_curve(result: TrainResult, path: Path) -> None:
    """Write the learning curve whole or not at all.

    Raises
    ------
    ResourceError
        If it cannot be written.
    """
    ending = path.suffix.lower()
    try:
        with atomic_file(path) as temporary:
            if ending == ".csv":
                from pyarrow import csv

                csv.write_csv(result.curve(), temporary)
            elif ending == ".parquet":
                import pyarrow.parquet as pq

                pq.write_table(result.curve(), temporary)
            else:
                temporary.write_text(result.plot().svg, "utf-8")
    except OSError as error:
        raise ResourceError(f"curve {str(path)!r} could not be written: {error.strerror or error}") from error


def _several(value: Any) -> list[Any]:
    return [] if value is None else list(value) if isinstance(value, (list, tuple)) else [value]


def _as_lake(data: Any) -> Any:
    """The data in a form that `fit` does not take for a plain array."""
    return {str(i): column for i, column in enumerate(data.T)} if isinstance(data, np.ndarray) else data


def _result(machine: Learner, seconds: float) -> TrainResult:
    """What is known of a fitted learner."""
    history, facts = machine.history_, machine._facts
    held = history["held_out"].size > 0
    chosen = history["objective"][len(history["objective"]) // 2 :]
    chosen = chosen[np.isfinite(chosen)]
    loss = history["held_out"][-1] if held else np.median(chosen) if chosen.size else np.nan
    notes = [f"{machine.status_}: {machine.advice_}", f"{machine.mode_}: {machine.mode_reason_}"]
    n_met = machine.n_used_ + machine.n_null_ + machine.n_nan_ + machine.n_dropped_
    if machine.n_dropped_:
        notes.append(
            f"{machine.n_dropped_:,} of {n_met:,} rows that were met do not pass the filter, or are of files "
            "that were left out"
        )
    if n_met < facts.n_rows:
        notes.append(f"the steps ended when {n_met:,} of {facts.n_rows:,} rows had been met")
    return TrainResult(
        learner=type(machine).__name__,
        target=facts.target,
        columns=facts.names,
        estimate=float(loss),
        estimate_of="held-out blocks" if held else "chosen blocks",
        n_steps=machine.n_iter_,
        n_blocks=machine.n_blocks_,
        block_size=machine.block_size_,
        n_skipped_blocks=machine.n_skipped_blocks_,
        mode=machine.mode_,
        status=(machine.status_,),
        notes=tuple(notes),
        n_rows=n_met - machine.n_dropped_,
        n_used=machine.n_used_,
        n_null=machine.n_null_,
        n_nan=machine.n_nan_,
        n_inf=machine.n_inf_,
        n_dropped=machine.n_dropped_,
        model=machine,
        history=history,
        data={**facts.data, "n_rows": facts.n_rows, "skipped": [s._asdict() for s in facts.skipped]},
        run=run_facts(seconds, machine.seed_, facts.workers),
    )
