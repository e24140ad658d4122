"""Names of the arrays used in the whole package."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
"""Values, weights, sums."""

Ints: TypeAlias = NDArray[np.int64]
"""Counts, positions, codes of groups, levels of the ladder."""

Bools: TypeAlias = NDArray[np.bool_]
"""Marks of rows, blocks, or groups."""

Words: TypeAlias = NDArray[np.uint64]
"""Hashes and random words of 64 bits."""


K = TypeVar("K", bound=np.generic)


class Record:
    """A dataclass of arrays, other records, and objects of negligible size."""

    __slots__ = ()

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return _bytes(tuple(getattr(self, field.name) for field in fields(self)))  # type: ignore[arg-type]


def _bytes(value: Any) -> int:
    if hasattr(value, "nbytes"):
        return int(value.nbytes)
    return sum(map(_bytes, value)) if isinstance(value, tuple) else 0


NOTHING = np.empty(0)
NOTHING.flags.writeable = False


def read_only(x: NDArray[K]) -> NDArray[K]:
    """The array as a read-only one, as Arrow's are: kernels are compiled for read-only arrays alone."""
    if x.flags.writeable:
        x = x.view()
        x.flags.writeable = False
    return x
