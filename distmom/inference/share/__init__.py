"""A bad share of rows, seen in a uniform row sample: rows that stand apart, and averages that bear them."""
