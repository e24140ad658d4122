"""Results as flat mappings of names to texts, in which floats keep all of their bits.

Only numbers, counts and short words are taken, by the names of public attributes; never a sentence.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np

from distmom.numerics.rung import Rung

INLINE = 6
"""Arrays of more numbers are hashed."""

FIELDS = (
    *("estimate", "interval", "plain_estimate", "plain_interval", "other_estimate", "radius", "intervals"),
    *(
        "trace",
        "gap",
        "discrepancy",
        "actual_level",
        "confidence_level",
        "status",
        "scheme",
        "statistic",
        "pairs",
        "method",
    ),
    *("interval_kind", "n_rows", "n_used", "n_null", "n_nan", "n_inf", "n_used_by_sample", "n_blocks"),
    *(
        "block_size",
        "n_non_finite_blocks",
        "n_screened_out",
        "n_units",
        "n_units_exact",
        "repeats",
        "n_unweighted",
    ),
    *(
        "n_zero_weight",
        "n_effective",
        "n_pairs",
        "sigma1_squared",
        "sigma2_squared",
        "block_estimates",
        "path",
    ),
    "accused_files",
    # of comparisons
    *("p_value", "p_holm", "n_permutations", "n_test_rows", "n_test_units", "smallest_p", "bandwidth"),
    # of variants
    *("lift", "lift_interval", "control_mean", "control_interval", "variant_mean", "variant_interval"),
    *("plain_lift", "plain_control", "plain_variant", "n_used_control", "n_used_variant", "n_units_control"),
    "n_units_variant",
    # of profiles
    *("type", "leaves_interval", "robust_std", "plain_std", "gini", "skewness_shift", "skewness_noise"),
    *("minimum", "maximum"),
    # of candidates
    *("threshold", "n_allowed", "n_won", "n_lost", "n_not_evaluated", "n_missing"),
    # of training
    *("estimate_of", "n_steps", "n_skipped_blocks", "mode", "n_dropped"),
)
"""Attributes of one result; what a result does not have, or is None, is left out."""

UNTOLD = {
    "VectorResult": ("path",),
    "UStatisticResult": ("accused_files",),
    "CompareResult": ("accused_files",),
    "DifferenceResult": ("accused_files", "block_size", "repeats", "scheme"),
}
"""Attributes that say nothing of results of a kind."""

LEARNT = (
    *(
        "coef_",
        "intercept_",
        "components_",
        "cluster_centers_",
        "parameters_",
        "n_iter_",
        "status_",
        "n_blocks_",
    ),
    *(
        "block_size_",
        "n_skipped_blocks_",
        "n_skipped_pairs_",
        "outlier_share_",
        "n_used_",
        "n_null_",
        "n_nan_",
    ),
    *("n_inf_", "n_dropped_", "classes_", "mode_"),
)
"""Attributes of a learner that has learnt."""

EXPLAINED = (
    *("n_files", "n_rows", "scheme", "n_blocks", "block_size", "fine_blocks", "repeats", "contamination"),
    *(
        "rows_drawn",
        "kernel",
        "statistic",
        "pairs",
        "tuples_one_by_one",
        "columns",
        "target",
        "max_iter",
        "seed",
    ),
    *("n_held_out_blocks", "rule", "loss", "distance", "candidates"),
)
"""What is kept of a plan that is told as a dictionary: nothing that depends on where it runs."""


def flat(found: Any) -> dict[str, str]:
    """Any result of the public interface."""
    out: dict[str, str] = {}
    _add(out, "", found)
    return out


def _add(out: dict[str, str], at: str, found: Any) -> None:
    if isinstance(found, Mapping):
        told = {k: v for k, v in found.items() if k in EXPLAINED} if "n_files" in found else found
        for key, value in told.items():
            _add(out, f"{at}{key}/", value)
    elif hasattr(found, "get_params"):
        _fields(out, at, found, LEARNT)
        for name, values in sorted(found.history_.items()):
            out[f"{at}history/{name}"] = text(values)
    elif hasattr(found, "to_arrow") and hasattr(found, "document"):
        _several(out, at, found)
    elif hasattr(found, "n_used"):
        _one(out, at, found)
    elif isinstance(found, (list, tuple)) and any(
        hasattr(one, "n_used") or hasattr(one, "document") for one in found
    ):
        for i, one in enumerate(found):
            _add(out, f"{at}{i}/", one)
    else:
        out[at.rstrip("/") or "value"] = text(found)


def _fields(out: dict[str, str], at: str, found: Any, names: tuple[str, ...]) -> None:
    for name in names:
        if name in UNTOLD.get(type(found).__name__, ()):
            continue
        value = getattr(found, name, None)
        if name == "status" and hasattr(found, "flags"):
            value = tuple(dict.fromkeys((found.status, *found.flags)))
        if value is not None:
            out[at + name] = text(value)


def _one(out: dict[str, str], at: str, found: Any) -> None:
    """One result; of times also its exact numbers."""
    _fields(out, at, found, FIELDS)
    numbers = getattr(found, "numbers", None)
    if numbers is not None and numbers is not found:
        out[f"{at}exact estimate"] = text(numbers.estimate)
        out[f"{at}exact interval"] = text(numbers.interval)
    for i, source in enumerate(getattr(found, "sources", ())[:3]):
        shown = (source.kind, source.name, source.n_used, source.mean, source.contribution, source.share)
        out[f"{at}source {i}"] = text(shown)
    if getattr(found, "model", None) is not None:
        _add(out, f"{at}model/", found.model)


def _several(out: dict[str, str], at: str, found: Any) -> None:
    """Several results, and what they have in common."""
    for i, one in enumerate(found):
        name = one.name if isinstance(one.name, str) else str(i)
        _one(out, f"{at}{name}/", one)
    out[f"{at}exit_code"] = text(found.exit_code)
    if hasattr(found, "duels"):
        out[f"{at}champions"], out[f"{at}finalists"] = text(found.champions), text(found.finalists)
        out[f"{at}beta_r"] = text(found.beta_r)
        for name in ("loses", "margins", "distances", "last_loses", "block_losses"):
            out[at + name] = text(getattr(found.duels, name))
    for unit in getattr(found, "named", ()):
        reasons = [(r.column, r.what, r.value, r.typical, r.z_score) for r in unit.reasons]
        out[f"{at}named {unit.kind} {unit.name}"] = text((unit.n_rows, reasons, unit.parts))


def text(value: Any) -> str:
    """One value; floats in hexadecimal, long arrays as a hash of their bytes."""
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, np.generic):
        return _array(value.reshape(1)) if value.dtype.kind in "mM" else text(value.item())
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if isinstance(value, timedelta):
        return str(value // timedelta(microseconds=1))
    if isinstance(value, Mapping):
        return _listed([f"{key}={text(one)}" for key, one in value.items()])
    if isinstance(value, (list, tuple, Rung)):
        return _listed([text(one) for one in value])
    if not isinstance(value, (int, str)):
        raise TypeError(f"{type(value).__name__} has no golden text")
    return str(value)


def _listed(parts: list[str]) -> str:
    joined = " ".join(parts)
    return joined if len(parts) <= INLINE and len(joined) < 200 else f"{len(parts)}:{_hash(joined.encode())}"


def _array(value: np.ndarray[Any, Any]) -> str:
    if value.dtype.kind in "mM":
        value = value.astype(np.int64)
    if value.size <= INLINE and value.ndim <= 2:
        return " ".join(text(one) for one in value.ravel().tolist())
    if value.dtype.kind not in "fiub":
        return _listed([text(one) for one in value.ravel().tolist()])
    if value.dtype.kind == "f":
        value = np.where(np.isnan(value), np.nan, value)  # whatever their sign
    return f"{'x'.join(map(str, value.shape))}:{_hash(np.ascontiguousarray(value).tobytes())}"


def _hash(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=8).hexdigest()
