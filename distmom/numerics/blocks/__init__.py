"""Block moments: which block a row belongs to, and sums over the rows of leaves, chunks and cells."""
