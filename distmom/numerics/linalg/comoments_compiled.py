"""Compiled twins of ``comoments.py``: the same bits."""

# mypy: allow-untyped-defs, allow-untyped-calls

from distmom.numerics._jit import entry


@entry("f8[,] i8[] f8[] f8[,]")
def add_rows(rows, cells, shift, sums):
    """Add ``row - shift`` to the sums of its cell."""
    for i in range(rows.shape[0]):
        k = cells[i]
        for a in range(rows.shape[1]):
            sums[k, a] += rows[i, a] - shift[a]


@entry("f8[,] i8[] f8[,] f8[,] f8[,,]")
def add_products(rows, cells, mean, sums, products):
    """Add the difference from the cell's mean, and the upper triangle of its products with itself."""
    c = rows.shape[1]
    for i in range(rows.shape[0]):
        k = cells[i]
        for a in range(c):
            d = rows[i, a] - mean[k, a]
            sums[k, a] += d
            for b in range(a, c):
                products[k, a, b] += d * (rows[i, b] - mean[k, b])
