"""Cells of whole files: what they say beside the rows, which is heard first, and correlated rows."""
