"""Iteration over an oracle: what is asked next, and when it is enough. No data, no files, no randomness.

`descend` walks over the blocks of one step after the other, with a choice of step sizes, projections,
aggregators and endings; the rounds of a tournament are in `tournament.py`.
"""
