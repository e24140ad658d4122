"""Iteration over an oracle: what is asked next, and when it is enough. No data, no files."""
