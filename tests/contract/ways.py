"""Ways to run one call: on threads or processes, in batches of any size, compiled or not, cut into any units.

The only place where a call gets keywords of where and how it runs, and the only one that knows of thresholds
inside the package.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import distmom as dm
from tests.contract.lakes import Lakes
from tests.flat import explained, flat

MODULES = (
    "distmom.estimators.compare.compare",
    "distmom.estimators.describe.describe",
    "distmom.estimators.difference.difference",
    "distmom.estimators.learn.train",
    "distmom.estimators.mean.accumulator",
    "distmom.estimators.mean.mean",
    "distmom.estimators.tournament.tournament",
    "distmom.estimators.ustat.ustatistic",
)
"""What is loaded before thresholds are set: modules keep copies of constants that they import."""


@dataclass(frozen=True)
class Way:
    """How to run a call.

    Attributes
    ----------
    lakes : Lakes
        What to read.
    scratch : Path
        An empty folder, for states.
    threads : int
        Unless there is a client.
    client : distributed.Client, optional
    batch_rows : int, optional
    compiled : bool
        Use compiled kernels, however little there is to do.
    max_files : int, optional
        Cut the work into units of so many files, and what is kept of the rows at a time into several ranges.
    by_disk : bool
        Regroup rows by way of the disk.
    """

    lakes: Lakes = field(repr=False)
    scratch: Path = field(repr=False)
    threads: int = 1
    client: Any = field(default=None, repr=False)
    batch_rows: int | None = None
    compiled: bool = False
    max_files: int | None = None
    by_disk: bool = False

    @property
    def place(self) -> Any:
        """Where to run."""
        return dm.Threads(self.threads) if self.client is None else self.client

    def run(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Call a public function so."""
        if self.batch_rows is not None and function is not dm.train:
            options["batch_rows"] = self.batch_rows
        return flat(function)(*arguments, **options, executor=self.place)

    def explain(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Ask for the plan of such a call."""
        return explained(function)(*arguments, **options, executor=self.place)

    def fit(self, learner: Any, *arguments: Any, **options: Any) -> Any:
        """Let a learner learn from a lake so."""
        return learner.fit(*arguments, **options, executor=self.place)

    @contextmanager
    def set(self) -> Iterator[None]:
        """Thresholds inside the package, for as long as the block runs."""
        for name in MODULES:
            importlib.import_module(name)
        with ExitStack() as patches:
            if self.compiled:
                _everywhere(patches, "SMALL_BYTES", -1)
                _everywhere(patches, "COMPILED_ROWS", 0)
            if self.max_files is not None:
                from distmom.cluster.plan import plan_units

                _everywhere(patches, "plan_units", partial(plan_units, max_files=self.max_files))
                _everywhere(patches, "RANGE_BYTES", 9_000)
                _everywhere(patches, "DISK_BYTES", 9_000)
            if self.by_disk:
                _everywhere(patches, "LEAST_BYTES", 0)
                _everywhere(patches, "MOST_READS", 0)
            yield


def _everywhere(patches: ExitStack, name: str, value: Any) -> None:
    """Set what any module of the package calls so."""
    modules = [m for path, m in list(sys.modules.items()) if path.startswith("distmom.") and name in vars(m)]
    assert modules, f"no module has {name}: was it renamed?"
    for module in modules:
        patches.enter_context(patch.object(module, name, value))
