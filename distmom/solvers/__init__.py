"""Iteration over an oracle: what is asked next, and when it is enough. No data, no files, no randomness.

`descend` walks over the blocks of one step after the other, with a choice of step sizes, projections,
aggregators and endings; the rounds of a tournament are in `tournament.py`.
"""

from __future__ import annotations

from distmom.solvers.aggregators import AGGREGATORS, Aggregator
from distmom.solvers.descent import Descent, Outcome, descend
from distmom.solvers.held_out import HeldOut
from distmom.solvers.oracle import Blocks
from distmom.solvers.projections import Ball, Projection, PsdCone, Simplex, Unconstrained
from distmom.solvers.risk_blocks import RiskBlocks
from distmom.solvers.state import DescentState
from distmom.solvers.status import Status
from distmom.solvers.step_sizes import Adam, Backtracking, Constant, Decaying, StepSize

__all__ = [
    "AGGREGATORS",
    "Adam",
    "Aggregator",
    "Backtracking",
    "Ball",
    "Blocks",
    "Constant",
    "Decaying",
    "Descent",
    "DescentState",
    "HeldOut",
    "Outcome",
    "Projection",
    "PsdCone",
    "RiskBlocks",
    "Simplex",
    "Status",
    "StepSize",
    "Unconstrained",
    "descend",
]
