"""Profiles of columns, and who breaks them."""
