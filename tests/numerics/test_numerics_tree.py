from __future__ import annotations

import random

import pytest

from distmom.numerics.tree import DyadicTree, StreamingTree


def record(left: str, right: str) -> str:
    """Not associative and not commutative: the string spells the order of all merges."""
    return f"({left} {right})"


def twin(n: int, level: int, index: int, skipped: frozenset[int] = frozenset()) -> str | None:
    """The definition, recursively."""
    if index << level >= n:
        return None
    if level == 0:
        return None if index in skipped else str(index)
    left = twin(n, level - 1, 2 * index, skipped)
    right = twin(n, level - 1, 2 * index + 1, skipped)
    if left is None or right is None:
        return right if left is None else left
    return record(left, right)


def root(n: int, skipped: frozenset[int] = frozenset()) -> str | None:
    return twin(n, (n - 1).bit_length(), 0, skipped)


@pytest.mark.parametrize("n", range(1, 71))
def test_both_trees_agree_with_the_recursive_definition(n: int) -> None:
    streaming = StreamingTree(record)
    for leaf in range(n):
        streaming.push(str(leaf))
    assert streaming.close() == root(n)

    shuffled = random.Random(n)
    for _ in range(3):
        leaves = list(range(n))
        shuffled.shuffle(leaves)
        tree = DyadicTree(n, record)
        for leaf in leaves:
            assert not tree.complete
            tree.push(0, leaf, str(leaf))
        assert tree.root == root(n)
        assert tree.n_waiting == n.bit_count()


@pytest.mark.parametrize("n", range(1, 71))
def test_any_cut_into_aligned_nodes_gives_the_same_root(n: int) -> None:
    chance = random.Random(1000 + n)

    def cut(level: int, index: int) -> list[tuple[int, int]]:
        if index << level >= n:
            return []
        if level == 0 or chance.random() < 0.4:
            return [(level, index)]
        return cut(level - 1, 2 * index) + cut(level - 1, 2 * index + 1)

    nodes = cut((n - 1).bit_length(), 0)
    chance.shuffle(nodes)
    tree = DyadicTree(n, record)
    for level, index in nodes:
        tree.push(level, index, twin(n, level, index))
    assert tree.root == root(n)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 12, 33])
def test_empty_leaves_leave_their_sibling_alone(n: int) -> None:
    chance = random.Random(n)
    for share in (0.1, 0.5, 0.9, 1.0):
        skipped = frozenset(leaf for leaf in range(n) if chance.random() < share)
        tree, streaming = DyadicTree(n, record), StreamingTree(record)
        for leaf in range(n):
            state = None if leaf in skipped else str(leaf)
            tree.push(0, leaf, state)
            streaming.push(state)
        assert tree.root == streaming.close() == root(n, skipped)


@pytest.mark.parametrize("n", [1, 2, 3, 6, 7, 12, 31])
def test_a_larger_tree_starts_from_the_nodes_of_a_smaller_one(n: int) -> None:
    smaller = DyadicTree(n, record)
    for leaf in range(n):
        smaller.push(0, leaf, str(leaf))
    for larger_n in (n, n + 1, n + 2, 2 * n + 5):
        larger = DyadicTree(larger_n, record)
        for node, state in smaller.waiting.items():
            larger.push(*node, state)
        for leaf in range(n, larger_n):
            larger.push(0, leaf, str(leaf))
        assert larger.root == root(larger_n)
    assert smaller.root == root(n), "and is left as it was"


def test_pushes_in_order_hold_a_logarithmic_number_of_states() -> None:
    tree = DyadicTree(1000, record)
    most = 0
    for leaf in range(1000):
        tree.push(0, leaf, "")
        most = max(most, tree.n_waiting)
    assert most <= 10


def test_a_level_above_the_root_means_the_root() -> None:
    tree = DyadicTree(3, record)
    tree.push(5, 0, "all")
    assert tree.root == "all"


def test_misuse_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least one leaf"):
        DyadicTree(0, record)
    tree = DyadicTree(4, record)
    with pytest.raises(ValueError, match="outside"):
        tree.push(0, 4, "x")
    with pytest.raises(ValueError, match="outside"):
        tree.push(1, 2, "x")
    tree.push(0, 1, "x")
    with pytest.raises(ValueError, match="twice"):
        tree.push(0, 1, "x")
    with pytest.raises(ValueError, match="not all of the 4"):
        _ = tree.root


def test_a_stream_without_leaves_has_no_state() -> None:
    assert StreamingTree(record).close() is None
