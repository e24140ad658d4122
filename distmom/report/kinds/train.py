"""What a training found: how it ended, and the learning curve."""

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
        Loss on the held-out blocks (lower median) at the last look; without them the median, over the last
        half of the steps, of the loss of the chosen block, which is biased low.
    estimate_of : {"held-out blocks", "chosen blocks"}
    status : Status
        The most serious of the flags and of how it ended, as the learner's ``status_``.
    flags : tuple of Status
        What the survey of the columns found, and what the mean says of the losses of which `estimate` is.
    n_steps : int
    n_blocks, block_size : int
        Blocks of a step, and their rows.
    n_skipped_blocks : int
        Blocks of all steps that could not be used.
    mode : {"resident", "streaming"}
    n_rows, n_used, n_null, n_nan, n_inf : int
        Rows that were met, in the first pass over the data up to the last step or in held-out blocks, and
        passed the filter; those with all their values; with one that is null, or NaN; used ones with an
        infinite value. ``data["n_rows"]`` has the rows of all files.
    n_dropped : int
        Rows that were met and did not pass the filter, or are of a file that was left out.
    model : object
        The fitted learner.
    history : dict of ndarray
        As the learner's ``history_``.
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
        return f"loss of {self.estimate_of}", "steps", "blocks", "rows a block"

    def lines(self) -> list[tuple[str, tuple[str, ...]]]:
        """One line."""
        numbers = (number(self.estimate), f"{self.n_steps:,}", f"{self.n_blocks}", f"{self.block_size}")
        return [(self.learner, numbers)]

    def curve(self) -> pa.Table:
        """The learning curve as a table: one row a step; the held-out loss is null between looks."""
        steps = np.arange(1, self.n_steps + 1)
        looks: list[float | None] = [None] * self.n_steps
        for step, loss in zip(self.history["held_out_step"], self.history["held_out"], strict=True):
            looks[int(step) - 1] = float(loss)
        plain = {
            name: pa.array(self.history[name]) for name in ("objective", "block", "gradient_norm", "skipped")
        }
        return pa.table({"step": pa.array(steps), **plain, "held_out": pa.array(looks, pa.float64())})
