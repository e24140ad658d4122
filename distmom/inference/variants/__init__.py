"""Variants of an experiment: their ratios, the differences between them, and many of them at once."""
