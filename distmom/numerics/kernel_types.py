"""Types of a kernel's arguments in a short notation."""

from __future__ import annotations

import re
from typing import Any

SCALARS = {
    "f8": "float64",
    "i8": "int64",
    "i4": "int32",
    "u8": "uint64",
    "u2": "uint16",
    "u1": "uint8",
    "b1": "boolean",
    "none": "none",
}
TOKEN = re.compile(r"[()]|=?(\w+)(\[,*\])?")


def kernel_types(text: str) -> tuple[Any, ...]:
    """The types that a text names: ``f8`` a number, ``f8[]`` an array, ``f8[,]`` one with two axes.

    Arrays are contiguous; with ``=`` in front of them they are read-only. Parentheses make a tuple.
    """
    from numba.core import types as numba_types

    types: Any = numba_types
    open_tuples: list[list[Any]] = [[]]
    for token in TOKEN.finditer(text):
        if token[0] == "(":
            open_tuples.append([])
        elif token[0] == ")":
            inner = open_tuples.pop()
            open_tuples[-1].append(types.Tuple(tuple(inner)))
        else:
            kind, axes = getattr(types, SCALARS[token[1]]), token[2]
            if axes is not None:
                kind = types.Array(kind, len(axes) - 1, "C", readonly=token[0].startswith("="))
            open_tuples[-1].append(kind)
    (whole,) = open_tuples
    return tuple(whole)
