"""Numbers of blocks, deviation bounds and interval ranks: scalars only, never data.

Importing its modules imports neither SciPy nor NumPy; functions that need them import them when called, and
the expensive ones cache their results.
"""
