"""A model from a lake, in one call: what the command and the batch job do."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from distmom.checks import check_choice, did_you_mean
from distmom.cluster.executors.backends import as_backend
from distmom.errors import ConfigError
from distmom.estimators.command import answer, command
from distmom.estimators.learn.data import DataOptions
from distmom.estimators.learn.learner import Learner
from distmom.estimators.learn.model_files import (
    DESCRIPTION,
    LEARNERS,
    check_model_folder,
    class_of,
    save_model,
)
from distmom.estimators.learn.question import LearnPlan, LearnQuestion
from distmom.estimators.learn.rows import Met
from distmom.inference.status import in_order
from distmom.lake.files.outputs import writing
from distmom.passes.opening import Names
from distmom.passes.scan import as_scan
from distmom.report.kinds.train import TrainResult
from distmom.report.write import check_output, write_whole
from distmom.status import Status

CURVES = (".csv", ".parquet", ".svg")


@command
def train(
    data: Any,
    learner: Literal["metric", "ranking", "regression", "classification", "clustering"],
    *,
    target: str | None = None,
    columns: Names = None,
    where: Any = None,
    options: dict[str, Any] | None = None,
    model: str | os.PathLike[str] | None = None,
    curve: str | os.PathLike[str] | list[str] | None = None,
    mode: Literal["auto", "resident", "streaming"] = "auto",
    compute: Literal["auto", "here", "workers"] = "auto",
    rng: Any = None,
    state: str | os.PathLike[str] | None = None,
    executor: Any = None,
) -> TrainResult:
    """Learn a model from a lake by robust gradient descent, and write it.

    Bad files and rows are left out first, as by ``fit`` of the learners; the flags of the result report it.

    Parameters
    ----------
    data : path, glob, list of paths, Arrow table, frame, …, or Scan
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
    where, mode, compute
        As for ``fit`` of the learners.
    rng : int, SeedSequence, Generator or None
        The learner's ``random_state``.
    state : str, path or State, optional
        File of checkpoints, from which an interrupted run resumes with the same bits.
    executor : Threads, Processes, Cluster, Dask client or address, optional
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
    machine = make_learner(learner, options, rng)
    machine._options()
    if target is not None and not machine._needs_target:
        raise ConfigError(f"target: {learner} has none; drop it, and name the features in columns")
    several = curve if isinstance(curve, (list, tuple)) else [curve]
    curves = [check_output(path, "curve", CURVES) for path in several if path is not None]
    if model is not None:
        check_model_folder(model)

    def finish(plan: LearnPlan, run: dict[str, Any]) -> TrainResult:
        found = _result(machine, plan, run)
        if model is not None:
            save_model(machine, model)
        for path in curves:
            write_whole(path, partial(_write_curve, found, path.suffix.lower()), "curve")
        return found

    read = DataOptions(columns, mode, compute, state)
    limit = as_backend(executor).memory_limit
    models = [] if model is None else [Path(model) / DESCRIPTION]
    with writing(*curves, what="curve"), writing(*models, what="model"):
        question = LearnQuestion(machine, as_scan(data, where), target, read, limit, finish)
        return answer(question, executor)  # type: ignore[no-any-return]


def make_learner(learner: str, options: dict[str, Any] | None, rng: Any) -> Learner:
    """The learner that this word names, with these parameters."""
    check_choice("learner", learner, tuple(LEARNERS))
    kind = class_of(LEARNERS[learner][1])
    known = kind().get_params()
    for name in options or {}:
        if name not in known or name == "random_state":
            there = ", ".join(n for n in known if n != "random_state")
            hint = did_you_mean(name, known)
            raise ConfigError(f"{name}: is not an option of {kind.__name__}; there are {there}{hint}")
    return kind(**(options or {}), random_state=rng)


def _write_curve(result: TrainResult, ending: str, path: Path) -> None:
    """Write the learning curve, in the format that the ending names."""
    if ending == ".csv":
        from pyarrow import csv

        csv.write_csv(result.curve(), path)
    elif ending == ".parquet":
        import pyarrow.parquet as pq

        pq.write_table(result.curve(), path)
    else:
        path.write_text(result.plot().svg, "utf-8")


def _result(machine: Learner, plan: LearnPlan, run: dict[str, Any]) -> TrainResult:
    """What is known of a fitted learner."""
    history, data = machine.history_, plan.data
    held = history["held_out"].size > 0
    chosen = history["objective"][len(history["objective"]) // 2 :]
    chosen = chosen[np.isfinite(chosen)]
    loss = history["held_out"][-1] if held else np.median(chosen) if chosen.size else np.nan
    notes = [machine.advice_, f"{machine.mode_}: {machine.mode_reason_}"]
    counts = {name: getattr(machine, f"{name}_") for name in Met._fields}
    n_dropped = counts["n_dropped"]
    n_met = sum(counts.values()) - counts["n_inf"]
    if n_dropped:
        notes.append(
            f"{n_dropped:,} of {n_met:,} rows read did not pass the filter, lay far out, or belong to "
            "files that were left out"
        )
    if n_met < data["n_rows"]:
        notes.append(f"training stopped after reading {n_met:,} of {data['n_rows']:,} rows")
    if machine.loss_flags_:
        notes.append(f"the mean of the losses is flagged: {'; '.join(machine.loss_flags_)}")
    flags = in_order(map(Status, (*machine.flags_, *machine.loss_flags_)))
    return TrainResult(
        learner=type(machine).__name__,
        target=plan.question.opened[2],
        columns=plan.names,
        estimate=float(loss),
        estimate_of="held-out blocks" if held else "chosen blocks",
        n_steps=machine.n_iter_,
        n_blocks=machine.n_blocks_,
        block_size=machine.block_size_,
        n_skipped_blocks=machine.n_skipped_blocks_,
        mode=machine.mode_,
        status=Status(machine.status_),
        flags=flags,
        notes=(*machine.notes_, *notes),
        n_rows=n_met - n_dropped,
        **counts,
        model=machine,
        history=history,
        data=data,
        run=run,
    )
