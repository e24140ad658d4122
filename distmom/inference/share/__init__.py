"""A bad share of rows, detected in a uniform row sample: rows that stand apart, and averages robust to it."""
