"""Robust means from Parquet lakes."""
