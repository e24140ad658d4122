"""Compiled numbering of texts by first appearance; the twin is Arrow's ``dictionary_encode``.

Texts that were met are in a hash table of open addresses: a slot has the upper half of a text's hash and its
number, from 1 on. A hash that agrees is not enough: the bytes are compared, too.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import numpy as np

from distmom.numerics._jit import entry, inline, prefetch, word_at

U = np.uint64
TOGETHER = 256  # rows whose slots and texts are prefetched: those of many texts are in no near cache
HALF = U(32)
LOW = U(0xFFFFFFFF)
WORD = 8


@inline
def hash_of(data, low, high):
    """A hash of the bytes low … high - 1."""
    n = high - low
    word = U(n) * U(0x9E3779B97F4A7C15)
    if n < WORD:
        for i in range(n):
            word ^= U(data[low + i]) << U(8 * i)
    else:
        for at in range(low, high - WORD, WORD):
            word = (word ^ word_at(data, at)) * U(0xBF58476D1CE4E5B9)
            word ^= word >> HALF
        word ^= word_at(data, high - WORD)
    word = (word ^ (word >> U(29))) * U(0x94D049BB133111EB)
    word = (word ^ (word >> HALF)) * U(0xBF58476D1CE4E5B9)
    return word ^ (word >> HALF)


@inline
def same(data, low, texts, at, n):
    """Whether two stretches of n bytes agree."""
    if n < WORD:
        differ = np.uint8(0)
        for i in range(n):
            differ |= data[low + i] ^ texts[at + i]
        return differ == 0
    unlike = word_at(data, low + n - WORD) ^ word_at(texts, at + n - WORD)
    for i in range(0, n - WORD, WORD):
        unlike |= word_at(data, low + i) ^ word_at(texts, at + i)
    return unlike == U(0)


@entry("u8[] i8[] u1[] i8")
def place_texts(slots, edges, texts, n):
    """Put the n texts that were met into an empty table."""
    last = np.int64(slots.size - 1)
    for k in range(n):
        word = hash_of(texts, edges[k], edges[k + 1])
        place = np.int64(word) & last
        while slots[place] != U(0):
            place = (place + 1) & last
        slots[place] = (word & ~LOW) | U(k + 1)


@entry("=i8[] =u1[] i8 u8[] i8[] u1[] i8 i4[]", pays=6e6)
def number_texts(ends, data, first, slots, edges, texts, n, out):
    """Number the texts ``data[ends[i] : ends[i + 1]]`` from row `first` on; `n` have numbers so far.

    New ones are added to `texts`, text k being ``texts[edges[k] : edges[k + 1]]``. Returns the row where
    there is no room for a new one, or for its bytes, and how many have numbers.
    """
    last = np.int64(slots.size - 1)
    words = np.empty(TOGETHER, np.uint64)
    for start in range(first, out.size, TOGETHER):
        m = min(TOGETHER, out.size - start)
        for j in range(m):
            words[j] = hash_of(data, ends[start + j], ends[start + j + 1])
            prefetch(slots, np.int64(words[j]) & last)
        for j in range(m):
            number = np.int64(slots[np.int64(words[j]) & last] & LOW) - 1
            prefetch(edges, max(number, 0))
            out[start + j] = number
        for j in range(m):
            prefetch(texts, edges[max(out[start + j], 0)])
        for j in range(m):
            i = start + j
            low = ends[i]
            size = ends[i + 1] - low
            word = words[j]
            place = np.int64(word) & last
            while True:
                slot = slots[place]
                if slot == U(0):
                    at = edges[n]
                    if n == edges.size - 1 or at + size > texts.size:
                        return i, n
                    slots[place] = (word & ~LOW) | U(n + 1)
                    texts[at : at + size] = data[low : low + size]
                    edges[n + 1] = at + size
                    out[i] = n
                    n += 1
                    break
                number = np.int64(slot & LOW) - 1
                if (
                    (slot ^ word) >> HALF == U(0)
                    and edges[number + 1] - edges[number] == size
                    and same(data, low, texts, edges[number], size)
                ):
                    out[i] = number
                    break
                place = (place + 1) & last
    return out.size, n
