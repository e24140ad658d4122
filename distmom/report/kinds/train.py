"""The result of a training: how it ended, and the learning curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from distmom.remedies import Remedies
from distmom.report.result import Result
from distmom.report.words import number


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TrainResult(Result):
    """A training.

    Attributes
    ----------
    learner : str
        Class of the model.
    target : str or None
        Column of the targets.
    columns : tuple of str
        Features.
    estimate : float
        Loss on the held-out blocks (lower median) at the last evaluation; without held-out blocks, the median
        over the last half of the steps of the loss of the chosen block, which is biased low.
    estimate_of : {"held-out blocks", "chosen blocks"}
    status : Status
        The most serious of the flags and the outcome, like the learner's ``status_``.
    flags : tuple of Status
        Findings of the survey of the columns, and flags of the mean of the losses behind `estimate`.
    n_steps : int
    n_blocks, block_size : int
        Blocks of a step, and their rows.
    n_skipped_blocks : int
        Blocks of all steps that could not be used.
    mode : {"resident", "streaming"}
    n_rows, n_used, n_null, n_nan, n_inf : int
        Rows read, in the first pass over the data up to the last step or in held-out blocks, that passed the
        filter; rows with all values; rows with a null, or with a NaN; used rows with an infinite value.
        ``data["n_rows"]`` has the rows of all files.
    n_dropped : int
        Rows read that did not pass the filter, or are from a skipped file.
    model : object
        The fitted learner.
    history : dict of ndarray
        The learner's ``history_``.
    """

    learner: str
    target: str | None
    columns: tuple[str, ...]
    estimate: float
    estimate_of: str
    n_steps: int
    n_blocks: int
    block_size: int
    n_skipped_blocks: int
    mode: str
    n_dropped: int
    model: Any
    history: dict[str, NDArray[Any]]
    confidence_level: float = float("nan")

    kind: ClassVar[str] = "Training"
    several: ClassVar[str] = "learners"
    remedies: ClassVar[Remedies] = Remedies(where="where")
    told_by: ClassVar[str] = "train.tell_train"
    shown: ClassVar[tuple[str, ...]] = (
        *("learner", "target", "columns", "estimate", "estimate_of", "n_steps", "n_blocks", "block_size"),
        *("n_skipped_blocks", "mode", "n_rows", "n_used", "n_null", "n_nan", "n_inf", "n_dropped"),
        *("status", "flags", "notes"),
    )

    @property
    def name(self) -> str:  # noqa: D102
        return self.learner

    @property
    def heading(self) -> str:  # noqa: D102
        return "learner"

    def records(self) -> list[dict[str, Any]]:
        """One row."""
        names = ("n_rows", "n_used", "n_null", "n_nan", "n_inf", "n_dropped", "n_steps", "n_blocks")
        estimate = self.estimate if np.isfinite(self.estimate) else None
        record = self.flat("learner", "target") | {"estimate": estimate} | self.flat(*names)
        return [record | {"block_size_min": self.block_size} | self.flat("status", "flags")]

    def headers(self) -> tuple[str, ...]:
        """Headers of the numbers."""
        return f"loss of {self.estimate_of}", "steps", "blocks", "rows per block"

    def lines(self) -> list[tuple[str, tuple[str, ...]]]:
        """One line."""
        numbers = (number(self.estimate), f"{self.n_steps:,}", f"{self.n_blocks}", f"{self.block_size}")
        return [(self.learner, numbers)]

    def curve(self) -> pa.Table:
        """The learning curve as a table: one row per step; the held-out loss is null between evaluations."""
        steps = np.arange(1, self.n_steps + 1)
        looks: list[float | None] = [None] * self.n_steps
        for step, loss in zip(self.history["held_out_step"], self.history["held_out"], strict=True):
            looks[int(step) - 1] = float(loss)
        plain = {
            name: pa.array(self.history[name]) for name in ("objective", "block", "gradient_norm", "skipped")
        }
        return pa.table({"step": pa.array(steps), **plain, "held_out": pa.array(looks, pa.float64())})
