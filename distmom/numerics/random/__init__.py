"""Draws: every one is a pure function of seed and address, on any machine."""
