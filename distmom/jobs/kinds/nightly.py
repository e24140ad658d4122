"""Means of a lake that grows daily, as a batch job started by a scheduler every night.

The sums of all nights are kept in a state: each run reads the files added since the last one, in a folder, an
object store or a table's latest version, and reports on all rows.
"""

from __future__ import annotations

from dataclasses import replace

from distmom.jobs.job import job_of
from distmom.jobs.keys import RUN
from distmom.jobs.kinds.summary import TABLES

WHY = "a nightly job keeps its sums there; for a mean without a state write pipeline = 'summary'"
STATE = {**RUN, "state": replace(RUN["state"], required=True, why=WHY)}

JOB = job_of("nightly", "mean", TABLES, run=STATE)
