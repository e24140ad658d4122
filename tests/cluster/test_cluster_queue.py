from __future__ import annotations

from fake_work import listing

from distmom.cluster import plan_units
from distmom.cluster.queue import UnitQueue

UNITS = plan_units(listing([1] * 6), max_files=1)


def test_fresh_units_come_in_plan_order_within_the_window() -> None:
    queue = UnitQueue(UNITS, pause=1.0)
    assert [queue.take(0.0, n, 3) for n in range(4)] == [*UNITS[:3], None]


def test_pauses_double_with_jitter_and_due_units_come_first() -> None:
    for _ in range(20):
        queue = UnitQueue(UNITS, pause=1.0)
        assert queue.take(0.0, 0, 9) is UNITS[0]
        now = 100.0
        for tries in range(1, 5):
            queue.retry(UNITS[0], now)
            pause = queue.until_due(now)
            assert 0.5 * 2 ** (tries - 1) <= pause <= 1.5 * 2 ** (tries - 1)
            assert queue.take(now + pause - 1e-3, 0, 9) is not UNITS[0]
            now += pause + 1e-3
            assert queue.take(now, 0, 9) is UNITS[0]
            assert queue.attempts[0] == tries + 1
        assert queue.until_due(now) == float("inf")


def test_pauses_differ_between_units() -> None:
    queue = UnitQueue(UNITS, pause=1.0)
    pauses = set()
    for unit in UNITS:
        queue.take(0.0, 0, 9)
        queue.retry(unit, 0.0)
        pauses.add(queue._again[-1][0])
    assert len({round(due, 6) for due, _, _ in queue._again}) == len(UNITS)


def test_suspects_wait_until_nothing_is_in_flight_and_then_go_one_by_one() -> None:
    queue = UnitQueue(UNITS, pause=1.0)
    first, second, third = (queue.take(0.0, n, 9) for n in range(3))
    assert first and second and third
    queue.suspect(first)
    queue.suspect(second)
    assert queue.take(0.0, 1, 9) is None  # the third is still in flight
    assert queue.take(0.0, 0, 9) is first
    assert queue.alone is first
    assert queue.take(0.0, 1, 9) is None
    queue.release(first)
    assert queue.take(0.0, 0, 9) is second
    queue.release(second)
    assert queue.take(0.0, 0, 9) is UNITS[3]
