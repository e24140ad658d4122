"""Means: plan, run, answer and states."""
