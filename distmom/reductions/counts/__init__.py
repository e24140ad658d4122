"""Reductions that count: rows, units, distinct keys."""
