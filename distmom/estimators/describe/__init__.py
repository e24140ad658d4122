"""Profiles of columns, and the files or units that break them."""
