"""Losses of rows, pairs and cells, their slopes, and the risks of blocks."""
