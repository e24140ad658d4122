"""Functions that users would write: kernels, losses, candidates."""

from __future__ import annotations

from typing import Any

import numpy as np


def far(a: Any, b: Any) -> Any:
    return (a - b) * (a - b) > 1.0


def spread_of_three(a: Any, b: Any, c: Any) -> Any:
    return np.maximum(np.maximum(a, b), c) - np.minimum(np.minimum(a, b), c)


def first_of_three(a: Any, b: Any, c: Any) -> Any:
    return a * a - b * c


def product_gap(a: Any, b: Any) -> Any:
    return (a[..., 0] - b[..., 0]) * (a[..., 1] - b[..., 1])


def later(a: Any, b: Any) -> Any:
    return np.where(a < b, 1.0, 0.0)


def two_and_one(a: Any, b: Any, c: Any) -> Any:
    return np.abs(a + b - 2.0 * c)


def line(row: dict[str, Any]) -> Any:
    return 2.0 * row["y"] - row["z"]


def flat_line(row: dict[str, Any]) -> Any:
    return 1.5 * row["y"]


def half_planes(row: dict[str, Any]) -> Any:
    return np.where(row["y"] > 5.0, 1.0, 0.0) + np.where(row["z"] > 2.5, 2.0, 0.0)


def cubed(truth: Any, predicted: Any) -> Any:
    away = np.abs(truth - predicted)
    return away * away * away  # the last bits of powers depend on the processor


def squared_to_mean(mean: Any, rows: Any, targets: Any) -> tuple[float, Any]:
    away = mean - rows
    return float((away * away).sum(axis=1).mean() / 2.0), away.mean(axis=0)
