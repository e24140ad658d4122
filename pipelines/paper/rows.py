"""The fourteen estimators of the published tables, on many samples at once through the public functions.

Samples of a partition are groups of one table; those of the sampling schemes are columns, `AT_ONCE` of them
share the numbers of the rows (or pairs) drawn, which are drawn anew for the next ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

import distmom as dm
from pipelines.paper.distributions import N_ROWS, Floats

AT_ONCE = 100
N_PAIRS = N_ROWS * (N_ROWS - 1) // 2
HERE: dict[str, Any] = {"interval": "none", "executor": dm.Threads(1)}
"""Chunks of samples share the processors, not the rows of one."""

Blocks = list[Floats]
"""For each sample the block values."""


@dataclass(frozen=True)
class Row:
    """A row of a published table.

    Attributes
    ----------
    table : {"mean", "variance"}
    name : str
    blocks : callable
        ``blocks(samples, delta, captioned, seed)`` gives the block values of each sample; `captioned` follows
        the propositions where the published numbers come from another setting.
    """

    table: str
    name: str
    blocks: Callable[[Floats, float, bool, int], Blocks]

    @property
    def costly(self) -> bool:
        """Whether it takes hundreds of thousands of pairs for each sample."""
        return self.name.startswith("MoIU")

    def estimates(
        self, samples: Floats, delta: float, *, captioned: bool, seed: int, median: str = "lower"
    ) -> tuple[Floats, int]:
        """Estimate of each sample, and K."""
        blocks = self.blocks(samples, delta, captioned, seed)
        return np.array([median_of(one, median) for one in blocks]), len(blocks[0])


def median_of(blocks: Floats, median: str) -> float:
    """The lower median of block values, or the mean of the two middle ones (``"midpoint"``)."""
    ordered = np.sort(blocks)
    low = ordered[(len(ordered) + 1) // 2 - 1]
    return float(low if median == "lower" else (low + ordered[len(ordered) // 2]) / 2.0)


def partition_blocks(delta: float, factor: float) -> int:
    """ceil(factor log(1/delta)), at least one."""
    return max(1, math.ceil(factor * math.log(1.0 / delta)))


def sample_blocks(delta: float, tau: float) -> int:
    """K of the sampling schemes."""
    return math.ceil(math.log(2.0 / delta) / (2.0 * (0.5 - tau) ** 2))


def pairs_of_sample(delta: float, tau: float) -> int:
    """M that the paper does not state: the share of pairs that is the share of rows of the other schemes."""
    return math.floor(8.0 * tau**2 * N_PAIRS / (9.0 * math.log(2.0 / delta)))


def grouped(samples: Floats) -> pa.Table:
    """One row a value, with the number of its sample."""
    return pa.table({"sample": np.repeat(np.arange(len(samples)), samples.shape[1]), "x": samples.ravel()})


def _of_groups(function: Callable[..., Any], samples: Floats, **options: Any) -> Blocks:
    found = function(grouped(samples), "x", by="sample", **options, **HERE)
    return [one.block_estimates for one in sorted(found, key=lambda one: one.group["sample"])]


def _of_columns(
    samples: Floats, seed: int, function: Callable[..., Sequence[Floats]], **options: Any
) -> Blocks:
    blocks: Blocks = []
    for first in range(0, len(samples), AT_ONCE):
        blocks += function(samples[first : first + AT_ONCE], rng=seed + first, **options, **HERE)
    return blocks


def _means(samples: Floats, **options: Any) -> Sequence[Floats]:
    values = pa.FixedSizeListArray.from_arrays(np.ascontiguousarray(samples.T).ravel(), len(samples))
    found = dm.mean(pa.table({"x": values}), "x", joint="coordinatewise", **options)
    assert isinstance(found, dm.VectorResult)
    return list(found.block_estimates.T)


def _variances(samples: Floats, **options: Any) -> Sequence[Floats]:
    names = [str(number) for number in range(len(samples))]
    table = pa.table(dict(zip(names, samples, strict=True)))
    found = dm.Results.of(dm.ustatistic(table, names, kernel="variance", **options))
    return [one.block_estimates for one in found if isinstance(one, dm.UStatisticResult)]


def _mom(samples: Floats, delta: float, captioned: bool, seed: int) -> Blocks:
    n_blocks = partition_blocks(delta, 1.0 if captioned else 4.5)
    return _of_groups(dm.mean, samples, blocks=n_blocks, rng=seed)


def _half_pairs(samples: Floats, delta: float, captioned: bool, seed: int) -> Blocks:
    n_blocks = partition_blocks(delta, 1.0) if captioned else 1
    return _of_groups(dm.ustatistic, samples, kernel="variance", pairs="disjoint", blocks=n_blocks, rng=seed)


def _mou(samples: Floats, delta: float, captioned: bool, seed: int) -> Blocks:
    return _of_groups(
        dm.ustatistic, samples, kernel="variance", blocks=partition_blocks(delta, 4.5), rng=seed
    )


def _moru(samples: Floats, delta: float, captioned: bool, seed: int) -> Blocks:
    n_blocks = partition_blocks(delta, 4.5)  # no tau is stated; K and B of the partition fit
    size = N_ROWS // n_blocks
    return _of_columns(samples, seed, _variances, blocks=dm.SampledBlocks(n_blocks, size))


def _morm(tau: float, replace: bool) -> Callable[[Floats, float, bool, int], Blocks]:
    def blocks(samples: Floats, delta: float, captioned: bool, seed: int) -> Blocks:
        design = dm.SampledBlocks(tau=tau, replace=replace)
        return _of_columns(samples, seed, _means, blocks=design, confidence_level=1.0 - delta)

    return blocks


def _moiu(tau: float, replace: bool) -> Callable[[Floats, float, bool, int], Blocks]:
    def blocks(samples: Floats, delta: float, captioned: bool, seed: int) -> Blocks:
        return _of_columns(
            samples,
            seed,
            _variances,
            pairs=dm.SampledPairs(pairs_of_sample(delta, tau), replace),
            blocks=sample_blocks(delta, tau),
        )

    return blocks


_TAUS = {"1/6": 1.0 / 6.0, "3/10": 0.3, "9/20": 0.45}
_SCHEMES = {"SWoR": False, "MC": True}

ROWS = (
    Row("mean", "MoM", _mom),
    *(
        Row("mean", f"MoRM_{word}_{short}", _morm(tau, replace))
        for word, tau in _TAUS.items()
        for short, replace in _SCHEMES.items()
    ),
    Row("variance", "MoU_1/2;1/2", _half_pairs),
    Row("variance", "MoU_Partition", _mou),
    Row("variance", "MoRU_SWoR", _moru),
    *(
        Row("variance", f"MoIU_{word}_{short}", _moiu(_TAUS[word], replace))
        for word in ("1/6", "3/10")
        for short, replace in _SCHEMES.items()
    ),
)
