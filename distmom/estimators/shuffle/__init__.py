"""Lakes in random order."""
