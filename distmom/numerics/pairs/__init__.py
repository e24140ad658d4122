"""Pairs and larger tuples of rows: all of them, tile by tile, and rows regrouped by blocks."""
