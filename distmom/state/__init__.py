"""Saved states: one file format, one comparison and one writer for everything that outlives a run.

A job with passes or rounds uses from this package a `State` (the file), a `Fingerprint` (what it depends on)
and a `Checkpoint` (compares, and saves now and then), and supplies its own arrays and facts.
"""

from distmom.state.checkpoint import Checkpoint, open_checkpoint
from distmom.state.fingerprint import Fingerprint, shown, shown_filter
from distmom.state.saved import Saved
from distmom.state.state import State

__all__ = ["Checkpoint", "Fingerprint", "Saved", "State", "open_checkpoint", "shown", "shown_filter"]
