"""How an accumulator takes rows: leaf by leaf, row by row, or many small files at a time."""
