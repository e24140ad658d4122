"""Vectors and matrices: co-moments, geometric medians, nearest positive semi-definite matrices."""
