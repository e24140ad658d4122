"""Containers of saved states: what goes in comes out, and nothing else is believed."""

from __future__ import annotations

import io
import json
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from distmom.errors import DataError
from distmom.state import container as room
from distmom.state.container import Container, read_container, write_container

TYPES = [
    "bool",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float32",
    "float64",
]
ARRAYS = st.sampled_from(TYPES).flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
)
PLAIN = ARRAYS | st.lists(st.binary(max_size=9), max_size=5).map(tuple)
FACTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def to_bytes(container: Container) -> bytes:
    out = io.BytesIO()
    write_container(container, out)
    return out.getvalue()


def sealed(body: bytes) -> bytes:
    """Any bytes with a digest that is right."""
    return body + room._digest(body).digest()


SMALL = Container(
    "test",
    {"a": [1, None, "ü\udc80", 0.1]},
    {"x": np.arange(6.0).reshape(2, 3), "none": np.zeros((0, 3), np.int64), "k": (b"abc", b"", b"\xff")},
)


@given(
    st.text(), st.dictionaries(st.text(), FACTS, max_size=3), st.dictionaries(st.text(), PLAIN, max_size=4)
)
def test_what_goes_in_comes_out(kind: str, facts: dict[str, Any], arrays: dict[str, Any]) -> None:
    found = read_container(to_bytes(Container(kind, facts, arrays)), "it")
    assert (found.kind, found.facts, list(found.arrays)) == (kind, facts, list(arrays))
    for name, values in arrays.items():
        mine = found.arrays[name]
        if isinstance(values, tuple):
            assert mine == values
            continue
        assert isinstance(mine, np.ndarray) and mine.flags.writeable
        assert (mine.dtype, mine.shape, mine.tobytes()) == (values.dtype, values.shape, values.tobytes())


def test_arrays_in_any_order_of_memory() -> None:
    x = np.arange(24).reshape(2, 3, 4)
    given = {
        "t": x.T,
        "step": x[:, ::2, 1:],
        "back": x[::-1],
        "broad": np.broadcast_to(np.float64(3), (2, 5)),
    }
    found = read_container(to_bytes(Container("test", {}, given)), "it")
    assert all(np.array_equal(found.arrays[name], values) for name, values in given.items())


def test_no_byte_may_be_missing_added_or_altered() -> None:
    whole = to_bytes(SMALL)
    assert read_container(whole, "it").kind == "test"
    chance = random.Random(0)
    for i in range(len(whole)):
        other = bytearray(whole)
        other[i] ^= 1 << chance.randrange(8)
        for wrong in (bytes(other), whole[:i], whole[:i] + whole[i + 1 :], whole[:i] + b"\0" + whole[i:]):
            if wrong != whole:
                with pytest.raises(DataError, match=r"^it is (damaged|not a saved state).*delete it"):
                    read_container(wrong, "it")
    with pytest.raises(DataError, match="damaged"):
        read_container(whole + b"\0", "it")


@given(st.integers(0, 2**32))
def test_bytes_of_other_makers_with_a_right_digest_are_an_error_or_a_container(chance: int) -> None:
    """Nothing but DataError: no crash, no memory beyond the file's."""
    dice = random.Random(chance)
    body = bytearray(to_bytes(SMALL)[: -room.DIGEST_BYTES])
    for _ in range(50):
        for _ in range(dice.choice([1, 1, 2, 5])):
            body[dice.randrange(len(body))] = dice.choice([0, 1, 127, 128, 255, dice.randrange(256)])
        try:
            read_container(sealed(bytes(body)), "it")
        except DataError as error:
            assert "\n" not in str(error)


@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    for wrong in (data, room._MAGIC + data, sealed(data), sealed(room._MAGIC + data)):
        with pytest.raises(DataError):
            read_container(wrong, "it")


def rewritten(more: bytes = b"", **changes: Any) -> bytes:
    """The bytes of a container of nine zeros, with another head, and more bytes at its end."""
    magic, head, data = to_bytes(Container("test", {}, {"x": np.zeros(9)})).split(b"\n", 2)
    other = json.dumps({**json.loads(head), **changes}).encode()
    return sealed(b"\n".join([magic, other, data[: -room.DIGEST_BYTES] + more]))


def test_control_a_container_may_be_written_by_others() -> None:
    assert np.array_equal(read_container(rewritten(), "it").arrays["x"], np.zeros(9))
    assert read_container(rewritten(arrays=[["y", "float32", [3, 6]]]), "it").arrays["y"].shape == (3, 6)


def test_shapes_larger_than_the_file_are_refused_before_anything_is_allocated() -> None:
    deep: Any = []
    for _ in range(500):
        deep = [deep]
    for shape in ([10**12], [10**5] * 3, [10**30], [-1], [-3, -3], 9, [True] * 9, [9.0], [1] * 8 + [9], deep):
        for dtype in ("float64", "bytes", "bool"):
            with pytest.raises(DataError, match="cannot be read"):
                read_container(rewritten(arrays=[["x", dtype, shape]]), "it")
    for lengths in ([-1, 1], [1 << 62, 1 << 62], [100, 0]):
        more = np.array(lengths, np.int64).tobytes()
        with pytest.raises(DataError, match=r"not a plain list|exceeds the file"):
            read_container(rewritten(more, arrays=[["x", "float64", [9]], ["y", "bytes", [2]]]), "it")


def test_other_heads_types_and_versions_are_refused() -> None:
    one = ["x", "float64", [9]]
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"schema_version": 3}, "version 3.*version 2"),
        ({"kind": 1}, "malformed"),
        ({"facts": []}, "malformed"),
        ({"arrays": []}, "other arrays"),
        ({"arrays": [one, one]}, "exceeds the file"),
        ({"arrays": [one, ["x", "float64", [0]]]}, "other arrays"),
        ({"arrays": [["x", "float64", [8]]]}, "other arrays"),
        ({"arrays": [["x", "object", [9]]]}, "malformed"),
        ({"arrays": [["x", "complex64", [9]]]}, "malformed"),
        ({"arrays": [[1, "float64", [9]]]}, "malformed"),
        ({"arrays": [["x", ["float64"], [9]]]}, "cannot be read"),
        ({"arrays": [["x", "float64"]]}, "cannot be read"),
        ({"arrays": None}, "cannot be read"),
    ]
    for changes, words in wrong:
        with pytest.raises(DataError, match=words):
            read_container(rewritten(**changes), "it")
    with pytest.raises(DataError, match="other values than true and false"):
        read_container(rewritten(b"\2", arrays=[["x", "float64", [9]], ["y", "bool", [1]]]), "it")
    with pytest.raises(TypeError, match="cannot be saved"):
        to_bytes(Container("test", {}, {"x": np.zeros(3, complex)}))
