"""Differences between the variants of an experiment."""
