"""The lakes of `tests.benchmarks.table`, each made when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.benchmarks import tournament
from tests.benchmarks.lakes import write_lake, write_tiny


class Lakes:
    """Each made when it is first asked for; `share` of the full sizes."""

    def __init__(self, folder: Path, share: float) -> None:
        self.folder, self.share = folder, share
        self.n_rows = int(64_000_000 * share)

    def _made(self, name: str, make: Callable[[Path], object]) -> Path:
        lake = self.folder / name
        if not lake.exists():
            make(lake)
        return lake

    @cached_property
    def main(self) -> Path:
        """Eight columns, 16 files."""
        return self._made("main", lambda lake: write_lake(lake, self.n_rows, 16, 1_000_000, more=4))

    @cached_property
    def nulls(self) -> Path:
        """With 5 % nulls."""
        return self._made("nulls", lambda lake: write_lake(lake, self.n_rows, 16, 1_000_000, nulls=0.05))

    @cached_property
    def texts(self) -> Path:
        """Groups of texts: 100,000 of them."""

        def make(lake: Path) -> None:
            lake.mkdir(parents=True)
            for number in range(16):
                rng = np.random.default_rng([3, number])
                n = self.n_rows // 16
                keys = pa.array([f"customer-{k}" for k in range(int(100_000 * min(1, 4 * self.share)))])
                texts = keys.take(pa.array(rng.integers(0, len(keys), n)))
                pq.write_table(
                    pa.table({"x": rng.standard_t(3, n), "t": texts}), lake / f"{number:02}.parquet"
                )

        return self._made("texts", make)

    @cached_property
    def row_groups(self) -> Path:
        """Row groups of ten rows, in one file."""

        def make(lake: Path) -> None:
            lake.mkdir(parents=True)
            values = np.random.default_rng(2).standard_t(3, 10 * int(60_000 * self.share))
            pq.write_table(pa.table({"x": values}), lake / "0.parquet", row_group_size=10)

        return self._made("row-groups", make)

    @cached_property
    def tiny(self) -> Path:
        """Files of two rows."""
        return self._made("tiny", lambda lake: write_tiny(lake, int(20_000 * self.share)))

    @cached_property
    def candidates(self) -> Path:
        """Predictions by 100 candidates."""
        n = int(10_000_000 * self.share)
        return self._made("candidates", lambda lake: tournament.write_lake(lake, n, 100))
