"""Uniform samples of rows, of groups and of whole lakes, that merge exactly."""
