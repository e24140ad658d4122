"""Numbers of blocks, deviation bounds and interval ranks: scalars only, never data.

Notation: n rows (`n_rows`) form K blocks (`n_blocks`) of B rows (`block_size`). The variance of a row is
sigma^2 (`sigma2`), that of a block value is V (`variance`), in squared units of the data. An answer may fail
with probability `delta` in (0, 1), which is 1 - `confidence_level`. Of the K block values, o (`outlying`) are
arbitrary because they are outlying or non-finite. Modules do not repeat this.

Importing these modules imports neither SciPy nor NumPy; functions import them when called, and expensive
functions cache their results.
"""
