"""Units of work, and the runner that takes them through threads or a Dask cluster.

The only room that imports Dask, and only once a cluster is asked for: importing this package loads none
of it.
"""

from distmom.cluster.calls import Call, run_calls
from distmom.cluster.executors.threads import ThreadExecutor
from distmom.cluster.interrupts import check_stopped
from distmom.cluster.memory import check_memory, parse_bytes, usable_cpus
from distmom.cluster.merge import Merged, UnitMerger
from distmom.cluster.outcome import Executor, Finished, UnitOutcome, Work
from distmom.cluster.plan import Done, Unit, merge_depth, plan_units, scheduler_bytes
from distmom.cluster.progress import make_progress
from distmom.cluster.runner import Progress, run_units
from distmom.cluster.scratch import Scratch

__all__ = [
    "Call",
    "Done",
    "Executor",
    "Finished",
    "Merged",
    "Progress",
    "Scratch",
    "ThreadExecutor",
    "Unit",
    "UnitMerger",
    "UnitOutcome",
    "Work",
    "check_memory",
    "check_stopped",
    "make_progress",
    "merge_depth",
    "parse_bytes",
    "plan_units",
    "run_calls",
    "run_units",
    "scheduler_bytes",
    "usable_cpus",
]
