"""Seeds: what the user may give, what is printed, and that no global state is read or changed."""

import random as python_random
import subprocess
import sys

import numpy as np
import pytest

from distmom.errors import ConfigError
from distmom.numerics.random.philox import DRAW_VERSION, resolve_seed, stream_key


def test_the_bits_behind_a_seed_are_frozen():
    """NumPy promises SeedSequence's words; a change would change every draw."""
    assert DRAW_VERSION == 1
    assert [f"{resolve_seed(s)[0]:032x}" for s in (0, 1, 20240229, 2**100)] == SEED_BITS


def test_the_bits_are_the_words_of_the_sequence_lowest_first():
    words = np.random.SeedSequence(7).generate_state(4, np.uint32)
    assert resolve_seed(7)[0] == sum(int(w) << 32 * i for i, w in enumerate(words))


def test_keys_are_frozen_and_differ_by_seed_and_purpose():
    assert int(stream_key(resolve_seed(0)[0], "swor")) == KEYS[0]
    assert int(stream_key(resolve_seed(0)[0], "pairs")) == KEYS[1]
    assert int(stream_key(resolve_seed(1)[0], "swor")) == KEYS[2]
    keys = {int(stream_key(seed, purpose)) for seed in range(100) for purpose in ("a", "b", "ab", "é", "")}
    assert len(keys) == 500
    assert stream_key(0, "a").dtype == np.uint64


@pytest.mark.parametrize(
    "rng",
    [
        0,
        5,
        2**200,
        np.int64(9),
        np.random.SeedSequence(5),
        np.random.SeedSequence([1, 2, 3]),
        np.random.SeedSequence(5, spawn_key=(0,)),
        np.random.SeedSequence(5, pool_size=8),
    ],
)
def test_pure_seeds_repeat_and_what_is_shown_reproduces_them(rng):
    seed, shown = resolve_seed(rng)
    assert resolve_seed(rng) == (seed, shown)
    assert resolve_seed(shown) == (seed, shown)
    assert 0 <= seed < 2**128
    assert type(seed) is int
    assert type(shown) in (int, str)


def test_a_plain_sequence_is_shown_as_its_integer_and_a_child_as_its_bits():
    assert resolve_seed(np.random.SeedSequence(5)) == resolve_seed(5)
    child = np.random.SeedSequence(5).spawn(1)[0]
    seed, shown = resolve_seed(child)
    assert shown == f"0x{seed:032x}"
    assert seed != resolve_seed(5)[0]


def test_a_generator_is_advanced_by_sixteen_bytes():
    generator, twin = np.random.default_rng(3), np.random.default_rng(3)
    seed, shown = resolve_seed(generator)
    assert seed == int.from_bytes(twin.bytes(16), "little")
    assert generator.bytes(8) == twin.bytes(8)
    assert resolve_seed(shown)[0] == seed
    assert resolve_seed(generator)[0] != seed


def test_none_is_fresh_and_shown_as_an_integer_that_every_json_reader_keeps():
    draws = [resolve_seed(None) for _ in range(20)]
    assert len({seed for seed, _ in draws}) == 20
    for seed, shown in draws:
        assert isinstance(shown, int)
        assert shown < 2**53
        assert resolve_seed(shown)[0] == seed


@pytest.mark.parametrize(
    "rng",
    [-1, np.int64(-3), 1.5, True, "7", "0x12", "0x" + "g" * 32, [1, 2], np.random.RandomState(0), b"x"],
)
def test_what_is_no_seed_is_refused_with_the_remedy(rng):
    with pytest.raises(ConfigError, match=r"^rng .*(got|; )") as caught:
        resolve_seed(rng)
    assert "\n" not in str(caught.value)


def test_global_random_state_is_neither_read_nor_changed():
    def draws():
        return [resolve_seed(r) for r in (0, np.random.SeedSequence(1), np.random.default_rng(2))]

    np.random.seed(1)  # noqa: NPY002
    python_random.seed(1)
    before = np.random.get_state(), python_random.getstate()  # noqa: NPY002
    first = draws()
    resolve_seed(None)
    after = np.random.get_state(), python_random.getstate()  # noqa: NPY002
    assert before[1] == after[1]
    assert all(np.array_equal(a, b) for a, b in zip(before[0], after[0], strict=True))
    np.random.seed(2)  # noqa: NPY002
    assert draws() == first


def test_the_twins_need_neither_numba_nor_scipy():
    code = (
        "import sys, distmom.numerics.random.philox, distmom.numerics.random.counts; "
        "import distmom.numerics.samples.sample_tree, "
        "distmom.numerics.samples.sampled_leaf as s; s.leaf_sample(1, 0, 0, 10, 3); "
        "print([m for m in ('numba', 'scipy', 'pyarrow', 'dask') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=240
    )
    assert done.stdout.strip() == "[]"


SEED_BITS = [
    "abf4641a2c71ba49db2cd7e7b0f478be",
    "8ae19ca14eb1072c672d8ee56d6791ff",
    "f982299e7d6b933a105e4a20b4e8308b",
    "1d49ff744b0ff8664d981b802c268aa3",
]
KEYS = [788899352154410941, 8168431194236813315, 4409521806248153600]
