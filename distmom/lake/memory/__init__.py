"""Data that is in memory, or comes as a stream, read as if it were a lake."""
