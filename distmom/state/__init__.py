"""Saved states: one file format, one comparison, one writer for all that outlives a run.

A job with passes or rounds needs of this room a `State` (the file), a `Fingerprint` (what it depends on) and
a `Checkpoint` (compares, and saves once in a while), and gives arrays and facts of its own.
"""

from distmom.state.checkpoint import Checkpoint, open_checkpoint
from distmom.state.fingerprint import Fingerprint, shown, shown_filter
from distmom.state.saved import Saved
from distmom.state.state import State

__all__ = ["Checkpoint", "Fingerprint", "Saved", "State", "open_checkpoint", "shown", "shown_filter"]
