"""Tournaments among candidates."""
