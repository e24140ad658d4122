"""Calls as units of work."""

from __future__ import annotations

import time
from collections import Counter

import pytest

from distmom.cluster import Call, ThreadExecutor, run_calls
from distmom.errors import DistmomError

made = Counter[int]()


def late_and_at_first_away(number: int) -> int:
    made[number] += 1
    time.sleep(7 * number % 5 / 500)
    if number % 3 == 0 and made[number] == 1:
        raise OSError("away")
    return number


def test_answers_keep_the_order_of_the_calls() -> None:
    made.clear()
    calls = [Call(f"number {i}", late_and_at_first_away, (i,)) for i in range(20)]
    executor = ThreadExecutor(4)
    try:
        assert run_calls(calls, executor, pause=0.001) == list(range(20))
        assert made[3] == 2 and made[4] == 1
        assert run_calls([], executor) == []
    finally:
        executor.close()


def test_what_a_call_raises_names_it() -> None:
    executor = ThreadExecutor(1)
    try:
        with pytest.raises(DistmomError, match="the second: unexpected ZeroDivisionError"):
            run_calls([Call("the first", divmod, (1, 1)), Call("the second", divmod, (1, 0))], executor)
    finally:
        executor.close()
