"""Candidates: where the prediction for a row comes from, and the loss of a prediction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from distmom.errors import DataError, place_of
from distmom.numerics.arrays import Bools, Floats
from distmom.numerics.losses.table import LOSSES, LossFunction
from distmom.reductions.accumulate.leaves import Rows


@dataclass(frozen=True)
class Candidate:
    """Something that predicts; picklable if its function or model is.

    It takes the values of a row at some `places`: the prediction itself, or named features. A function takes
    a dictionary of arrays and returns one number per row; a model has the method `response`, which takes the
    features as the columns of a matrix.
    """

    name: str
    places: tuple[int, ...]
    features: tuple[str, ...] = ()
    function: Callable[[dict[str, Floats]], Any] | None = None
    model: Any = None
    response: str = "predict"

    @property
    def computed(self) -> bool:
        """Whether predictions are computed: then on whole leaves, so that batches do not change bits."""
        return self.function is not None or self.model is not None

    def described(self, columns: Sequence[str]) -> list[str]:
        """What distinguishes it from others, as words that can be compared."""
        return [self.name, *(columns[i] for i in self.places)]

    def predict(self, rows: Rows, path: str, counted: Bools | None = None) -> Floats:
        """Predictions for the rows; NaN if a column of predictions is null.

        Functions and models see only the rows that are `counted`; predictions for the others are NaN.
        """
        if not self.computed:
            return column(rows, self.places[0])
        given = {name: column(rows, c) for name, c in zip(self.features, self.places, strict=True)}
        if counted is None or counted.all():
            return self._compute(given, rows.n_rows, path)
        predicted = np.full(rows.n_rows, np.nan)
        n_counted = int(np.count_nonzero(counted))
        if n_counted:
            some = {name: values[counted] for name, values in given.items()}
            predicted[counted] = self._compute(some, n_counted, path)
        return predicted

    def _compute(self, given: dict[str, Floats], n_rows: int, path: str) -> Floats:
        try:
            found = self.function(given) if self.function is not None else self._ask(given)
            predicted = np.asarray(found, np.float64)
        except Exception as error:
            reason = str(error).partition("\n")[0]
            place = place_of(error)
            raise DataError(
                f"{path or 'data'}: candidate {self.name!r} failed{' in ' * bool(place)}{place}: "
                f"{type(error).__name__}: {reason}; "
                "repair it, or filter the rows with where"
            ) from error
        if predicted.shape != (n_rows,):
            raise DataError(
                f"{path or 'data'}: candidate {self.name!r} must return one number per row, shape "
                f"({n_rows},), not {predicted.shape}"
            )
        return predicted

    def _ask(self, given: dict[str, Floats]) -> Any:
        matrix: Any = np.column_stack(list(given.values()))
        if hasattr(self.model, "feature_names_in_"):  # fitted on a data frame: it expects the column names
            import pandas as pd

            matrix = pd.DataFrame(matrix, columns=list(given))
        found = np.asarray(getattr(self.model, self.response)(matrix))
        if self.response == "predict_proba" and found.ndim == 2 and found.shape[1] == 2:
            return found[:, 1]
        return found


def column(rows: Rows, place: int) -> Floats:
    """Values of a column, with NaN for null."""
    values, valid = rows.values[place], rows.valid[place]
    return values if valid is None else np.where(valid, values, np.nan)


@dataclass(frozen=True)
class RowLoss:
    """A loss by name, with its parameter, or any function of truths and predictions; picklable."""

    name: str
    parameter: float | None = None
    function: Callable[[Floats, Floats], Any] | None = None

    @property
    def compiled(self) -> tuple[LossFunction, float] | None:
        """Row of the table, and parameter, for the compiled kernels; None if there is no compiled form."""
        if self.function is not None or not LOSSES[self.name].compiled:
            return None
        return LOSSES[self.name], LOSSES[self.name].given(self.parameter)

    def __call__(self, truth: Floats, predicted: Floats) -> Floats:
        """The loss of each row."""
        if self.function is None:
            found = LOSSES[self.name](truth, predicted, self.parameter)
            return _within(truth, predicted, found) if self.name == "log" else found
        with np.errstate(all="ignore"):
            found = np.asarray(self.function(truth, predicted), np.float64)
        if found.shape != truth.shape:
            raise DataError(
                f"loss: {self.name} must return one number per row, shape {truth.shape}, not {found.shape}"
            )
        if found.size and np.nanmin(found, initial=0.0) < 0.0:
            raise DataError(f"loss: {self.name} is negative for some rows; give one that is at least 0")
        return found


def _within(truth: Floats, probability: Floats, loss: Floats) -> Floats:
    """Log losses; infinite if the prediction is not a probability."""
    labels = (truth == 0.0) | (truth == 1.0)
    if not labels.all():
        odd = float(truth[~labels][0])
        raise DataError(f"loss='log': the target must be 0 or 1, not {odd:g}; recode it")
    return np.where((probability >= 0.0) & (probability <= 1.0), loss, np.inf)
