"""Cells of whole files: how they compare with the rows, which answer comes first, and correlated rows."""
