"""Losses of candidates on blocks, and the distances between candidates."""
