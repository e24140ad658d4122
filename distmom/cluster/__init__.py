"""Units of work, and the runner that executes them on threads or a Dask cluster.

The only package that imports Dask, and only if a cluster is used: importing this package does not load Dask.
"""

from distmom.cluster.calls import Call, run_calls
from distmom.cluster.executors.threads import ThreadExecutor
from distmom.cluster.memory import check_memory, usable_cpus
from distmom.cluster.merge import Merged, UnitMerger
from distmom.cluster.outcome import Executor, UnitOutcome, Work
from distmom.cluster.plan import Unit, merge_depth, plan_units, scheduler_bytes
from distmom.cluster.progress import make_progress, progress_where_seen
from distmom.cluster.runner import Progress, run_units
from distmom.stopping import check_stopped

__all__ = [
    "Call",
    "Executor",
    "Merged",
    "Progress",
    "ThreadExecutor",
    "Unit",
    "UnitMerger",
    "UnitOutcome",
    "Work",
    "check_memory",
    "check_stopped",
    "make_progress",
    "merge_depth",
    "plan_units",
    "progress_where_seen",
    "run_calls",
    "run_units",
    "scheduler_bytes",
    "usable_cpus",
]
