"""Iteration over an oracle: what to request next, and when to stop. No data, no files, no randomness.

`descend` takes steps on the blocks of one step after the other, with a choice of step sizes, projections,
aggregators and stopping rules; the rounds of a tournament are in `tournament.py`.
"""
