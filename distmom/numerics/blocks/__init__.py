"""Block moments: the assignment of rows to blocks, and sums over the rows of leaves, chunks and cells."""
