"""Columns: which Arrow types are read, and how they become arrays of float64."""
