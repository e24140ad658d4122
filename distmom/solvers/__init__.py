"""Iteration over an oracle: what is asked next, and when it is enough. No data, no files, no randomness.

`descend` walks over the blocks of one step after the other, with a choice of step sizes, projections,
aggregators and endings; the rounds of a tournament are in `tournament.py`.
"""

from __future__ import annotations

from distmom.solvers.aggregators import AGGREGATORS, Aggregator
from distmom.solvers.blocks import Blocks, RiskBlocks
from distmom.solvers.descent import Descent, Outcome, descend
from distmom.solvers.held_out import HeldOut
from distmom.solvers.projections import Projection, ball, psd_cone, simplex, unconstrained
from distmom.solvers.state import DescentState
from distmom.solvers.status import Status
from distmom.solvers.step_sizes import Adam, Backtracking, Decaying, StepSize

__all__ = [
    "AGGREGATORS",
    "Adam",
    "Aggregator",
    "Backtracking",
    "Blocks",
    "Decaying",
    "Descent",
    "DescentState",
    "HeldOut",
    "Outcome",
    "Projection",
    "RiskBlocks",
    "Status",
    "StepSize",
    "ball",
    "descend",
    "psd_cone",
    "simplex",
    "unconstrained",
]
