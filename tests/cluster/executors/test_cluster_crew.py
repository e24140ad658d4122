"""Crews answer about the parts that they hold, and get them again where they are gone."""

from functools import partial
from typing import Any

import numpy as np
import pytest
from programs import wait_until

from distmom.cluster.executors import crew as crews
from distmom.cluster.executors.client import ClientExecutor
from distmom.cluster.executors.crew import ClientCrew, CrewLostError, crew_of
from distmom.cluster.outcome import Executor


def plus(number: float, part: Any) -> Any:
    return part + number


def fails(part: Any) -> Any:
    raise ZeroDivisionError("division by zero")


def test_answers_come_in_the_order_of_the_questions(executor: Executor) -> None:
    crew = crew_of(executor)
    for number in range(5):
        crew.hold([np.arange(3.0) + 10 * p + number for p in range(crew.size)])
        for add in (1.0, 2.0):
            questions = [(p, partial(plus, add + p)) for p in range(crew.size)] + [(0, partial(plus, 0.5))]
            found = [float(a[0]) for a in crew.ask(questions)]
            assert found == [10 * p + number + add + p for p in range(crew.size)] + [number + 0.5]
    crew.close()


def test_what_a_worker_lost_is_sent_again_and_old_parts_are_forgotten(inproc_client: Any) -> None:
    crew = ClientCrew(ClientExecutor(inproc_client))

    def n_held() -> int:
        return sum(map(len, inproc_client.has_what().values()))

    for number in range(4):
        crew.hold([number, 10 + number])
        assert crew.ask([(0, partial(plus, 1)), (1, partial(plus, 1))]) == [number + 1, number + 11]
        wait_until(lambda: n_held() <= 2, "old parts are forgotten")
        if number % 2:
            inproc_client.cancel(crew._held)  # as where their worker is gone
        assert crew.ask([(1, partial(plus, 2))]) == [number + 12]
    crew.close()
    wait_until(lambda: not n_held(), "all parts are forgotten")


def test_who_does_not_answer_is_lost(inproc_client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    crew = ClientCrew(ClientExecutor(inproc_client))
    crew.hold([1])
    with pytest.raises(CrewLostError, match="division by zero"):
        crew.ask([(0, fails)])
    monkeypatch.setattr(crews, "PATIENCE", 1e-9)
    with pytest.raises(CrewLostError):
        crew.ask([(0, partial(plus, 1))])
