"""A rung of the ladder: the estimate at one number of blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Rung:
    """Estimate at a number of blocks that was tried; unpacks as ``n_blocks, estimate, margin = rung``.

    A record and not a tuple, because frames allow only lists of tuples of one type.
    """

    n_blocks: int
    estimate: Any
    margin_of_error: Any

    def __iter__(self) -> Iterator[Any]:
        yield from (self.n_blocks, self.estimate, self.margin_of_error)
