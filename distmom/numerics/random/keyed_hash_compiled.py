"""Compiled BLAKE2b for short messages; the twin with the same bits is `hashlib`, in ``keyed_hash.py``."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import numpy as np

from distmom.numerics._jit import entry, njit

U = np.uint64
BLOCK = 128

START = (
    "6A09E667F3BCC908 BB67AE8584CAA73B 3C6EF372FE94F82B A54FF53A5F1D36F1 "
    "510E527FADE682D1 9B05688C2B3E6C1F 1F83D9ABFB41BD6B 5BE0CD19137E2179"
)
IV = np.array([int(word, 16) for word in START.split()], np.uint64)

ORDERS = (
    "0123456789abcdef ea489fd61c02b753 b8c052fdae367194 7931dcbe265a40f8 "
    "905724afe1bc683d 2c6a0b834d75fe19 c51fed4a0763928b db7ec13950f4862a "
    "6fe9b308c2d714a5 a2847615fb9e3cd0 0123456789abcdef ea489fd61c02b753"
)
SIGMA = np.array([[int(place, 16) for place in order] for order in ORDERS.split()], np.uint8)


@njit
def turned(x, bits):
    """Rotation to the right."""
    return (x >> U(bits)) | (x << U(64 - bits))


@njit
def step(a, b, c, d, x, y):
    """The mixing function G of RFC 7693."""
    a = a + b + x
    d = turned(d ^ a, 32)
    c = c + d
    b = turned(b ^ c, 24)
    a = a + b + y
    d = turned(d ^ a, 16)
    c = c + d
    b = turned(b ^ c, 63)
    return a, b, c, d


@njit
def compress(h, m, n_bytes, last):
    """Take in a block of 16 words, the first `n_bytes` bytes being read with it."""
    v0, v1, v2, v3 = h[0], h[1], h[2], h[3]
    v4, v5, v6, v7 = h[4], h[5], h[6], h[7]
    v8, v9, v10, v11 = IV[0], IV[1], IV[2], IV[3]
    v12, v13, v14, v15 = IV[4] ^ U(n_bytes), IV[5], IV[6], IV[7]
    if last:
        v14 = ~v14
    for r in range(12):
        s = SIGMA[r]
        v0, v4, v8, v12 = step(v0, v4, v8, v12, m[s[0]], m[s[1]])
        v1, v5, v9, v13 = step(v1, v5, v9, v13, m[s[2]], m[s[3]])
        v2, v6, v10, v14 = step(v2, v6, v10, v14, m[s[4]], m[s[5]])
        v3, v7, v11, v15 = step(v3, v7, v11, v15, m[s[6]], m[s[7]])
        v0, v5, v10, v15 = step(v0, v5, v10, v15, m[s[8]], m[s[9]])
        v1, v6, v11, v12 = step(v1, v6, v11, v12, m[s[10]], m[s[11]])
        v2, v7, v8, v13 = step(v2, v7, v8, v13, m[s[12]], m[s[13]])
        v3, v4, v9, v14 = step(v3, v4, v9, v14, m[s[14]], m[s[15]])
    h[0] ^= v0 ^ v8
    h[1] ^= v1 ^ v9
    h[2] ^= v2 ^ v10
    h[3] ^= v3 ^ v11
    h[4] ^= v4 ^ v12
    h[5] ^= v5 ^ v13
    h[6] ^= v6 ^ v14
    h[7] ^= v7 ^ v15


@njit
def load(data, low, high, m):
    """Bytes low … high - 1, at most a block of them, as words; zeros behind them."""
    m[:] = U(0)
    for i in range(high - low):
        m[i >> 3] |= U(data[low + i]) << U(8 * (i & 7))


@entry("=u1[] i8[] =u1[] u8[]", pays=8e6)
def blake2b_words(data, edges, secret, out):
    """The first 8 bytes of the keyed BLAKE2b of each message, as the hash of 8 bytes is defined."""
    m = np.empty(16, np.uint64)
    h = np.empty(8, np.uint64)
    keyed = IV.copy()  # the state after the block that holds the key
    keyed[0] ^= U(0x01010000) ^ (U(secret.size) << U(8)) ^ U(8)
    empty = keyed.copy()  # of a message without bytes that block is the last one
    load(secret, 0, secret.size, m)
    compress(empty, m, BLOCK, True)
    compress(keyed, m, BLOCK, False)
    for i in range(out.size):
        low = edges[i]
        high = edges[i + 1]
        if low == high:
            out[i] = empty[0]
            continue
        h[:] = keyed
        read = BLOCK
        while low < high:
            stop = min(low + BLOCK, high)
            load(data, low, stop, m)
            read += stop - low
            compress(h, m, read, stop == high)
            low = stop
        out[i] = h[0]


@entry("=i4[] i8 b1[] u8 u8[] u8[]", "=i8[] i8 b1[] u8 u8[] u8[]")
def look_up_words(values, base, valid, null, table, out):
    """Entry ``value - base`` of a table for each value, `null` where not valid (`valid` of size 0: all are).

    False where a value is outside the table, or its entry is 0, which stands for unknown.
    """
    some_null = valid.size > 0
    for i in range(values.size):
        if some_null and not valid[i]:
            out[i] = null
            continue
        place = np.int64(values[i]) - base
        if place < 0 or place >= table.size:
            return False
        word = table[place]
        if word == U(0):
            return False
        out[i] = word
    return True
