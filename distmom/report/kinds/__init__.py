"""The kinds of results, one module each."""
