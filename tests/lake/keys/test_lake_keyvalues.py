from __future__ import annotations

import pickle
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from distmom.lake.keys.keyvalues import (
    NAN,
    NULL,
    component_of,
    components,
    decode_key,
    key_from_bytes,
    key_to_bytes,
)

CLOCKS = st.sampled_from(["date", "timestamp", "zoned", "time", "duration"])
COMPONENTS = st.one_of(
    st.just(NULL),
    st.just(NAN),
    st.tuples(
        st.just(1),
        st.integers() | st.floats(allow_nan=False) | st.decimals(allow_nan=False, allow_infinity=False),
    ),
    st.tuples(st.just(3), st.booleans()),
    st.tuples(st.just(4), st.text(st.characters())),
    st.tuples(st.just(5), st.binary()),
    st.tuples(st.just(6), st.tuples(CLOCKS, st.integers(-(2**100), 2**100))),
)


@given(st.lists(COMPONENTS, max_size=4).map(tuple))
def test_keys_keep_their_values_and_types(key: tuple[object, ...]) -> None:
    found = key_from_bytes(key_to_bytes(key))
    assert found == key and repr(found) == repr(key)


@given(st.lists(COMPONENTS, max_size=4).map(tuple))
@example(((1, 2**64 - 1), (4, "\udcff"), (6, ("timestamp", 1)), (6, ("date", -(10**7)))))
@example(((6, ("timestamp", 2**63 * 10**9)), (6, ("date", 2**63)), (6, ("time", -(2**99)))))
def test_values_that_are_shown_lead_back_to_their_keys(key: tuple[Any, ...]) -> None:
    """What is said of a group is found by its values, also where these are shown as texts."""
    shown = decode_key(pickle.loads(pickle.dumps(key)))
    beyond = [c for c in key if c[0] == 1 and isinstance(c[1], Decimal) and not -76 < c[1].adjusted() < 76]
    if not beyond:  # of no column of Arrow
        assert tuple(map(component_of, pickle.loads(pickle.dumps(shown)))) == key


def test_equal_numbers_of_different_types_stay_what_they_were() -> None:
    key = ((1, 1), (1, 1.0), (1, Decimal("1.00")), (3, True))
    assert repr(decode_key(key_from_bytes(key_to_bytes(key)))) == "(1, 1.0, Decimal('1.00'), True)"


def test_texts_that_are_no_utf8() -> None:
    key = tuple(components(pa.array([b"\xff\xfe"], pa.binary()).view(pa.string())))
    assert key_from_bytes(key_to_bytes(key)) == key
    assert key_from_bytes(key_to_bytes(((4, "\udc80"),))) == ((4, "\udc80"),)


LIKE_THEM = st.lists(st.sampled_from(["\ufffd", "x", "ff", "80", "\udcff", "\udc80", "é", "\\"]), max_size=6)


@given(LIKE_THEM.map("".join), LIKE_THEM.map("".join))
@example("\udcff", "\ufffdxff")
@example("\ufffd\udcff", "\ufffd\ufffdxff")
@example("\ufffd\udcff", "\ufffd\ufffd\ufffdxff")
@example("\udcff", "\\xff")
def test_two_texts_never_look_alike(one: str, other: str) -> None:
    assert (decode_key(((4, one),)) == decode_key(((4, other),))) == (one == other)
    for text in (one, other):
        if "\ufffd" not in text and not any(byte in text for byte in ("\udcff", "\udc80")):
            assert decode_key(((4, text),)) == (text,)


@pytest.mark.parametrize(
    "wrong",
    [
        b"",
        b"7",
        b"[7]",
        b"[[]]",
        b'[["z"]]',
        b'[["n", 1]]',
        b'[["i"]]',
        b'[["i", 7]]',
        b'[["i", "7.5"]]',
        b'[["f", "nan"]]',
        b'[["d", "NaN"]]',
        b'[["d", "x"]]',
        b'[["b", 1]]',
        b'[["t", 1]]',
        b'[["x", "0"]]',
        b'[["c", "hour", "1"]]',
        b'[["c", "date", null]]',
        b'[["i", "' + b"9" * 5_000 + b'"]]',
    ],
)
def test_other_bytes_are_no_key(wrong: bytes) -> None:
    with pytest.raises(ValueError):
        key_from_bytes(wrong)
