"""Reductions that keep rows: of whole blocks, of samples, or sorted for the disk."""
