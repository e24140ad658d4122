"""Our own frozen random numbers: every draw is a pure function of its address.

An *address* is a 64-bit key (hashed from the user's seed and a purpose), a 32-bit ``block`` and a 64-bit
``node``. It names one stream of words of the counter-based generator Philox-4x32-10. The word at any place
of a stream is computed without the words before it, so draws need no state, no order and no worker. An
address is for one draw: two draws from the same address share their words.

NumPy may change the streams of its ``Generator`` from one feature release to the next, so it is only used to
turn the user's seed into 128 bits; frozen vectors in the tests pin these bits and every draw.
Functions here use NumPy; `permutation` gives the same result, compiled, from ``philox_compiled.py``.

References
----------
Salmon, Moraes, Dror & Shaw (2011), Parallel random numbers: as easy as 1, 2, 3 (Philox).
Lemire (2019), Fast random integer generation in an interval.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from distmom.errors import ConfigError
from distmom.numerics.arrays import Bools, Floats, Ints, Words
from distmom.numerics.twins import compiled_twin

_kernels = compiled_twin(__name__)

DRAW_VERSION = 1
"""Raised whenever any draw changes for the same seed; it is part of every result and every saved state.

A new kind of draw has a purpose and streams of its own: it changes no other draw, nor this number."""

Key: TypeAlias = int | np.uint64

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_WEYL = (0x9E3779B9, 0xBB67AE85)
_ROUNDS = 10
_MAX_WORDS = 1 << 33  # 64-bit words of one stream: 2**32 counters of 128 bits


def resolve_seed(rng: object) -> tuple[int, int | str]:
    """The 128 bits behind `rng`, and what to print so that the draw can be repeated.

    Parameters
    ----------
    rng : int, str, numpy.random.SeedSequence, numpy.random.Generator or None
        A non-negative int or a SeedSequence is pure: the same one gives the same seed. A Generator is
        advanced by 16 bytes. None takes fresh entropy from the operating system. A str is a seed as printed
        by a result: ``"0x"`` and 32 hexadecimal digits.

    Returns
    -------
    seed : int
        In [0, 2**128).
    shown : int or str
        ``resolve_seed(shown)[0] == seed``. Fresh entropy is an int below 2**53, which every JSON reader
        keeps exactly.

    Raises
    ------
    ConfigError
        If `rng` is negative, of another type, or a malformed str.

    Examples
    --------
    >>> resolve_seed(0)[1]
    0
    """
    if rng is None:
        rng = secrets.randbits(53)
    if isinstance(rng, (int, np.integer)) and not isinstance(rng, bool):
        if rng < 0:
            raise ConfigError(f"rng must be a non-negative integer, got {rng}; choose one from 0 up")
        return _sequence_bits(np.random.SeedSequence(int(rng))), int(rng)
    if isinstance(rng, np.random.SeedSequence):
        seed = _sequence_bits(rng)
        entropy = rng.entropy
        plain = isinstance(entropy, int) and not rng.spawn_key and rng.pool_size == 4
        return seed, int(entropy) if plain else _show_bits(seed)  # type: ignore[arg-type]
    if isinstance(rng, np.random.Generator):
        seed = int.from_bytes(rng.bytes(16), "little")
        return seed, _show_bits(seed)
    if isinstance(rng, str):
        return _parse_bits(rng), rng.lower()
    raise ConfigError(
        "rng must be a non-negative integer, a numpy SeedSequence, a numpy Generator or None, "
        f"got {type(rng).__name__}; pass e.g. rng=0"
    )


def _sequence_bits(sequence: np.random.SeedSequence) -> int:
    """Four words of `sequence`, the first one lowest; reading them does not change the sequence."""
    return int.from_bytes(sequence.generate_state(4, np.uint32).astype("<u4").tobytes(), "little")


def _show_bits(seed: int) -> str:
    return f"0x{seed:032x}"


def _parse_bits(text: str) -> int:
    digits = text[2:]
    if text[:2].lower() != "0x" or len(digits) != 32 or set(digits.lower()) - set("0123456789abcdef"):
        raise ConfigError(
            f"rng given as text must be 0x and 32 hexadecimal digits, got {text!r}; "
            "pass the seed printed in a result, or a non-negative integer"
        )
    return int(digits, 16)


def stream_key(seed: int, purpose: str) -> np.uint64:
    """The key of the streams for one purpose: 64 bits hashed from (seed, purpose) by BLAKE2b.

    Parameters
    ----------
    seed : int
        In [0, 2**128), from `resolve_seed`.
    purpose : str
        Any text; different purposes never share a stream.

    Examples
    --------
    >>> stream_key(0, "labels") == stream_key(0, "pairs")
    np.False_
    """
    secret = seed.to_bytes(16, "little")
    digest = hashlib.blake2b(purpose.encode(), digest_size=8, key=secret, person=b"distmom").digest()
    return np.uint64(int.from_bytes(digest, "little"))


def philox(key: Key, index: Words, block: Words, node: Words) -> tuple[Words, Words, Words, Words]:
    """Philox-4x32-10 of the counter (index, block, low node, high node): four 32-bit words each.

    `index`, `block` and `node` are uint64 arrays (at least one-dimensional) that broadcast, the first two
    below 2**32. Costs about 20 ns a word.
    """
    low, high = int(key) & 0xFFFFFFFF, int(key) >> 32
    c0, c1, c2, c3 = np.broadcast_arrays(index, block, node & _LOW, node >> _HALF)
    for turn in range(_ROUNDS):
        k0 = np.uint64((low + turn * _WEYL[0]) & 0xFFFFFFFF)
        k1 = np.uint64((high + turn * _WEYL[1]) & 0xFFFFFFFF)
        p0, p1 = c0 * _MULTIPLIERS[0], c2 * _MULTIPLIERS[1]
        c0, c1, c2, c3 = (p1 >> _HALF) ^ c1 ^ k0, p1 & _LOW, (p0 >> _HALF) ^ c3 ^ k1, p0 & _LOW
    return c0, c1, c2, c3


def word_pairs(key: Key, index: Words, block: Words, node: Words) -> tuple[Words, Words]:
    """The 64-bit words ``2 * index`` and ``2 * index + 1`` of the streams (key, block, node)."""
    c0, c1, c2, c3 = philox(key, index, block, node)
    return c0 | (c1 << _HALF), c2 | (c3 << _HALF)


def words(key: Key, block: int, size: int, *, node: int = 0, first: int = 0) -> Words:
    """Words ``first`` to ``first + size - 1`` of one stream: uint64, uniform over all 64 bits.

    Raises
    ------
    ValueError
        If the address is out of range, or the stream (2**33 words) would be exhausted.
    """
    _check_address(block, node)
    if size < 0 or first < 0 or first + size > _MAX_WORDS:
        raise ValueError(f"words {first} to {first + size} are not in a stream of 2**33 words")
    start = first // 2
    index = np.arange(start, (first + size + 1) // 2, dtype=np.uint64)
    address = np.array([[block], [node]], dtype=np.uint64)
    pairs = np.stack(word_pairs(key, index, address[0], address[1]), axis=1).ravel()
    return pairs[first - 2 * start :][:size]


def uniform(key: Key, block: int, size: int, *, node: int = 0) -> Floats:
    """`size` uniform numbers in [0, 1): multiples of 2**-53, one word each."""
    return closed_open(words(key, block, size, node=node))


def closed_open(word: Words) -> Floats:
    """The upper 53 bits of each word as a number in [0, 1)."""
    return (word >> np.uint64(11)).astype(np.float64) * 2.0**-53


def open_closed(word: Words) -> Floats:
    """The upper 53 bits of each word as a number in (0, 1]: its logarithm is finite."""
    return ((word >> np.uint64(11)) + np.uint64(1)).astype(np.float64) * 2.0**-53


def permutation(key: Key, block: int, n: int, *, node: int = 0, compiled: bool = False) -> Ints:
    """A uniformly random order of 0 ... n - 1 (Fisher-Yates from the last place down).

    Parameters
    ----------
    key, block, node
        The address.
    n : int
        Non-negative.

    Returns
    -------
    ndarray of int64, shape (n,)

    Examples
    --------
    >>> sorted(permutation(1, 0, 4).tolist())
    [0, 1, 2, 3]
    """
    _check_address(block, node)
    if compiled:
        out = np.arange(n, dtype=np.int64)
        _kernels.shuffle(np.uint64(key), np.uint64(block), np.uint64(node), out)
        return out
    partners = bounded_in_order(key, block, node, np.arange(n, 1, -1, dtype=np.uint64)).tolist()
    order = list(range(n))
    for step, partner in enumerate(partners):
        last = n - 1 - step
        order[last], order[partner] = order[partner], order[last]
    return np.array(order, dtype=np.int64)


def _check_address(block: int, node: int) -> None:
    if not (0 <= block < 1 << 32 and 0 <= node < 1 << 64):
        raise ValueError(f"a block has 32 bits and a node 64, got block {block} and node {node}")


def bounded_in_order(key: Key, block: int, node: int, bounds: Words) -> Ints:
    """Integers, each exactly uniform on 0 ... bound - 1, from the words of a stream in order.

    One word for each, and one more for each rejection: Lemire's multiplication has no bias for any bound.
    """

    def fetch(first: int, size: int) -> Words:
        return words(key, block, size, node=node, first=first)

    return take_in_order(fetch, bounds, bounded64).astype(np.int64)


def bounded64(word: Words, bound: Words) -> tuple[Words, Bools]:
    """Upper half of the 128-bit products, and whether it is accepted as uniform on 0 ... bound - 1."""
    w_low, w_high = word & _LOW, word >> _HALF
    b_low, b_high = bound & _LOW, bound >> _HALF
    middle = w_high * b_low + ((w_low * b_low) >> _HALF)
    carry = w_low * b_high + (middle & _LOW)
    upper = w_high * b_high + (middle >> _HALF) + (carry >> _HALF)
    lower = word * bound
    accepted = lower >= bound  # the surplus 2**64 mod bound is below bound: divide only if needed
    doubtful = np.flatnonzero(~accepted)
    if doubtful.size:
        surplus = (np.uint64(0) - bound[doubtful]) % bound[doubtful]
        accepted[doubtful] = lower[doubtful] >= surplus
    return upper, accepted


def bounded32(word: Words, bound: Words) -> tuple[Words, Bools]:
    """The same with 32-bit words and bounds of at most 2**32: half the words for small ranges."""
    product = word * bound
    lower = product & _LOW
    accepted = lower >= bound
    doubtful = np.flatnonzero(~accepted)
    if doubtful.size:
        surplus = (np.uint64(1 << 32) - bound[doubtful]) % bound[doubtful]
        accepted[doubtful] = lower[doubtful] >= surplus
    return product >> _HALF, accepted


def take_in_order(
    fetch: Callable[[int, int], Words], bounds: Words, bounded: Callable[[Words, Words], tuple[Words, Bools]]
) -> Words:
    """One bounded number for each of `bounds`, from consecutive words, skipping each rejected word.

    ``fetch(first, size)`` gives words of the stream. Rejections are so rare for typical bounds (at most
    bound / 2**64 or bound / 2**32) that a new start after each one costs nothing.
    """
    out = np.empty_like(bounds)
    done = used = 0
    while done < bounds.size:
        numbers, accepted = bounded(fetch(used, bounds.size - done), bounds[done:])
        good = numbers.size if accepted.all() else int(accepted.argmin())
        out[done : done + good] = numbers[:good]
        done += good
        used += good + 1
    return out
