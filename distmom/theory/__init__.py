"""Numbers of blocks, deviation bounds and interval ranks: scalars only, never data.

Of n rows (`n_rows`) there are K blocks (`n_blocks`) of B rows (`block_size`); a row has the variance sigma^2
(`sigma2`), the value of a block V (`variance`), in squared units of the data. An answer may fail with
probability `delta` in (0, 1), 1 - `confidence_level`. Of the K block values o (`outlying`) are arbitrary, as
they are outlying or non-finite. Modules do not say this again.

Importing these imports neither SciPy nor NumPy; functions that need them import them when called, and the
expensive ones cache their results.
"""
