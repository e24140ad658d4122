"""Means: their plan, run, answer and states."""
