"""Variants of an experiment: their ratios, what lies between them, and many of them asked together."""
