"""Kernels of U-statistics: what is averaged over pairs or triples of rows, and how a block does so fast."""
