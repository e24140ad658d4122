"""How an accumulator takes rows: leaf by leaf, row by row, many small files at a time."""
