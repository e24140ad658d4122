"""Files of our own: saved states, and rows sorted on disk."""
