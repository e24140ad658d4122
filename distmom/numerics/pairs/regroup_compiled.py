"""Compiled twins of ``regroup.py``: the same places."""

# mypy: allow-untyped-defs, allow-untyped-calls

from distmom.numerics._jit import entry


@entry("=i8[] b1[] i8[] i8[] i8[]")
def places_of(cells, gone, starts, following, places):
    """Place of each row, -1 for rows that are gone or not ours; False if a cell overflows."""
    masked = gone.size > 0
    for i in range(cells.size):
        cell = cells[i]
        if cell < 0 or (masked and gone[i]):
            places[i] = -1
            continue
        place = following[cell]
        if place >= starts[cell + 1]:
            return False
        places[i] = place
        following[cell] = place + 1
    return True


@entry("=f8[] i8[] f8[,] i8")
def put(x, places, buffer, column):
    """Copy values to their places in one column."""
    for i in range(x.size):
        if places[i] >= 0:
            buffer[places[i], column] = x[i]
