"""Reductions that keep rows: of whole blocks, of samples, sorted for the disk."""
