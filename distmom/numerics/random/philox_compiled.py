"""Compiled draws; the NumPy twins with the same bits, and all explanations, are in ``random.py``.

`philox`, `word_pair` and `bounded64` are inlined by Numba: called as functions they take six times as long,
because LLVM then sees no loop to vectorise. Kernels in other modules may use them. Numba's cache does not
notice when an inlined function of another module changes: these are frozen with DRAW_VERSION.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, allow-incomplete-defs

from __future__ import annotations

import numpy as np

from distmom.numerics._jit import entry, inline, njit

U = np.uint64
_LOW = U(0xFFFFFFFF)
_HALF = U(32)
_ONE = U(1)
_M0, _M1 = U(0xD2511F53), U(0xCD9E8D57)
_W0, _W1 = U(0x9E3779B9), U(0xBB67AE85)


@inline
def philox(key, index, block, node):
    """Four 32-bit words (as uint64) at place `index` of the stream (key, block, node)."""
    k0, k1 = key & _LOW, key >> _HALF
    c0, c1, c2, c3 = index, block, node & _LOW, node >> _HALF
    for _ in range(10):
        p0, p1 = c0 * _M0, c2 * _M1
        c0, c1, c2, c3 = (p1 >> _HALF) ^ c1 ^ k0, p1 & _LOW, (p0 >> _HALF) ^ c3 ^ k1, p0 & _LOW
        k0, k1 = (k0 + _W0) & _LOW, (k1 + _W1) & _LOW
    return c0, c1, c2, c3


@inline
def word_pair(key, index, block, node):
    """The 64-bit words ``2 * index`` and ``2 * index + 1``."""
    c0, c1, c2, c3 = philox(key, index, block, node)
    return c0 | (c1 << _HALF), c2 | (c3 << _HALF)


@njit
def word_at(key, place, block, node):
    """The 64-bit word at any place of a stream."""
    first, second = word_pair(key, place >> _ONE, block, node)
    return second if place & _ONE else first


@inline
def bounded64(word, bound):
    """Upper half of the 128-bit product, and whether it is accepted (Lemire)."""
    w_low, w_high = word & _LOW, word >> _HALF
    b_low, b_high = bound & _LOW, bound >> _HALF
    middle = w_high * b_low + ((w_low * b_low) >> _HALF)
    carry = w_low * b_high + (middle & _LOW)
    upper = w_high * b_high + (middle >> _HALF) + (carry >> _HALF)
    lower = word * bound
    return upper, lower >= bound or lower >= (U(0) - bound) % bound


@inline
def next_bounded(key, block, node, place, second, bound):
    """A number below the bound from the word at `place` on; the next place, and the word kept for it."""
    number = U(0)
    accepted = False
    while not accepted:
        if place & _ONE:
            word = second
        else:
            word, second = word_pair(key, place >> _ONE, block, node)
        place += _ONE
        number, accepted = bounded64(word, bound)
    return number, place, second


@entry("u8 u8 u8 i8[]")
def shuffle(key, block, node, order) -> None:
    """Twin of `random.permutation`: shuffles `order` in place."""
    place, second = U(0), U(0)
    for last in range(order.size - 1, 0, -1):
        number, place, second = next_bounded(key, block, node, place, second, U(last + 1))
        partner = np.int64(number)
        order[last], order[partner] = order[partner], order[last]
