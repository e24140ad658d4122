"""Keys of groups as bytes and back, without loss: for saved states.

A key is a JSON list with one item a component. A number keeps its kind, so that a group is shown as before:
``["i", "7"]``, ``["f", "0x1.8p+0"]`` (hexadecimal), ``["d", "1.50"]``; ``["n"]`` is null, ``["q"]`` NaN,
``["b", true]``, ``["t", text]``, ``["x", bytes in hexadecimal]``, ``["c", clock's kind, "count"]``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from distmom.lake.keys.keyvalues import NAN, NULL, Component, Key

_NUMBERS: dict[str, Callable[[str], Any]] = {"i": int, "f": float.fromhex, "d": Decimal}
_CLOCKS = ("date", "timestamp", "zoned", "time", "duration")


def key_to_bytes(key: Key) -> bytes:
    """Bytes of a key; ASCII.

    Examples
    --------
    >>> key_to_bytes(((4, "DE"), (0,), (1, 7)))
    b'[["t", "DE"], ["n"], ["i", "7"]]'
    """
    return json.dumps([_item(component) for component in key]).encode("ascii")


def key_from_bytes(data: bytes) -> Key:
    """The key that `key_to_bytes` turned into these bytes; ValueError if there is none."""
    items = json.loads(data)
    if not isinstance(items, list):
        raise ValueError(f"{data[:60]!r} is no key")
    try:
        return tuple(_component(*item) for item in items)
    except (TypeError, ValueError, ArithmeticError) as error:
        raise ValueError(f"{data[:60]!r} is no key") from error


def _item(component: Component) -> list[Any]:
    rank = component[0]
    if rank in (0, 2):
        return ["n"] if rank == 0 else ["q"]
    value = component[1]
    if rank == 1:
        if isinstance(value, float):
            return ["f", value.hex()]
        return ["d" if isinstance(value, Decimal) else "i", str(value)]
    if rank == 5:
        return ["x", value.hex()]
    if rank == 6:
        return ["c", value[0], str(value[1])]
    return ["b" if rank == 3 else "t", value]


def _component(kind: str, *values: Any) -> Component:
    if kind in ("n", "q") and not values:
        return NULL if kind == "n" else NAN
    if kind == "c":
        clock, count = values
        if clock not in _CLOCKS:
            raise ValueError
        return (6, (clock, int(count)))
    [value] = values
    if kind == "b":
        if not isinstance(value, bool):
            raise TypeError
        return (3, value)
    if not isinstance(value, str):
        raise TypeError
    if kind == "t":
        return (4, value)
    if kind == "x":
        return (5, bytes.fromhex(value))
    number = _NUMBERS[kind](value)
    if number != number:
        raise ValueError
    return (1, number)
