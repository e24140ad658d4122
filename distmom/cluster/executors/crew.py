"""Those who hold parts of something and answer small questions about them, again and again.

A question travels to each part and an answer comes back; the parts themselves travel once. A part that is
gone, with its process, is sent again with the question, so the answers never depend on who gives them.
"""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from contextlib import suppress
from typing import Any, Protocol

from distmom.cluster.executors.client import ClientExecutor
from distmom.cluster.executors.versions import decisive_here, refuse_others
from distmom.cluster.failures import one_line
from distmom.cluster.interrupts import EVERY, interrupts
from distmom.cluster.outcome import Executor

PATIENCE = 20.0
"""Seconds that an answer may take; whoever asks had better answer it himself then."""

HELD = 2
"""Sets of parts of one crew that a worker keeps: the present one, and one for stragglers."""

Question = Callable[[Any], Any]
"""Takes a part; picklable, as is what it returns."""


class CrewLostError(Exception):
    """Nobody answers, or what was asked failed."""


class Crew(Protocol):
    """Holders of parts.

    Attributes
    ----------
    size : int
        Parts that are worked on at the same time.
    """

    @property
    def size(self) -> int: ...  # noqa: D102

    def hold(self, parts: Sequence[Any]) -> None:
        """Hold these parts, and forget those before."""

    def ask(self, questions: Sequence[tuple[int, Question]]) -> list[Any]:
        """Answers to questions, each about the part of that number.

        CrewLostError if they do not come within seconds.
        """

    def close(self) -> None:
        """Forget all parts."""


class ThreadCrew:
    """Threads of this process."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._parts: Sequence[Any] = ()
        self._pool = ThreadPoolExecutor(size, thread_name_prefix="distmom-crew")

    def hold(self, parts: Sequence[Any]) -> None:  # noqa: D102
        self._parts = parts

    def ask(self, questions: Sequence[tuple[int, Question]]) -> list[Any]:  # noqa: D102
        others = [self._pool.submit(question, self._parts[part]) for part, question in questions[1:]]
        first = [question(self._parts[part]) for part, question in questions[:1]]
        return first + [other.result() for other in others]

    def close(self) -> None:  # noqa: D102
        self._pool.shutdown()
        self._parts = ()


class ClientCrew:
    """Workers of a cluster: part after part goes to one after the other."""

    def __init__(self, executor: ClientExecutor) -> None:
        self.size = executor.threads
        self._executor = executor
        self._client = executor.client
        self._name = uuid.uuid4().hex[:12]
        self._number = 0
        self._parts: Sequence[Any] = ()
        self._sent: set[int] = set()
        self._homes: list[str] = []

    def hold(self, parts: Sequence[Any]) -> None:
        """Remember the parts; each goes to a worker with the first question about it."""
        self._number += 1
        self._parts, self._sent = parts, set()
        self._homes = sorted((self._executor.ask(n_workers=-1) or {}).get("workers") or ())

    def ask(self, questions: Sequence[tuple[int, Question]]) -> list[Any]:  # noqa: D102
        answers = self._answers(questions, [part not in self._sent for part, _ in questions])
        again = [i for i, answer in enumerate(answers) if isinstance(answer, _Missing)]
        if again:
            found = self._answers([questions[i] for i in again], [True] * len(again))
            for i, answer in zip(again, found, strict=True):
                answers[i] = answer
        self._sent.update(part for part, _ in questions)
        return answers

    def _answers(self, questions: Sequence[tuple[int, Question]], with_part: Sequence[bool]) -> list[Any]:
        futures: list[Any] = []
        try:
            for (part, question), sent in zip(questions, with_part, strict=True):
                where = (self._name, self._number, part)
                asked = (decisive_here(), where, question, (self._parts[part],) if sent else None)
                home = self._homes[part % len(self._homes)] if self._homes else None
                options = {"workers": home, "allow_other_workers": home is not None, "pure": False}
                key = f"distmom-step-{uuid.uuid4().hex}"
                futures.append(self._client.submit(_answer, *asked, key=key, **options))
            return self._gathered(futures)
        except Exception as error:
            with suppress(Exception):
                self._client.cancel(futures)
            raise CrewLostError(one_line(error)) from error

    def _gathered(self, futures: list[Any]) -> list[Any]:
        """The results, within `PATIENCE`; an interrupt is heard meanwhile."""

        async def gather() -> list[Any]:
            return list(await asyncio.wait_for(self._client.gather(futures, asynchronous=True), PATIENCE))

        coming = asyncio.run_coroutine_threadsafe(gather(), self._client.loop.asyncio_loop)
        while not wait_for([coming], EVERY).done:
            interrupts.check()
        return coming.result()

    def close(self) -> None:
        """Have the workers forget what they hold."""
        self._parts = ()
        with suppress(Exception):
            self._client.run(_forget, self._name, wait=False, on_error="ignore")


class _Missing:
    """Answer of a worker that does not hold the part."""


_held: dict[tuple[str, int, int], Any] = {}
_lock = threading.Lock()


def _answer(
    versions: tuple[str, ...], key: tuple[str, int, int], question: Question, sent: tuple[Any] | None
) -> Any:
    """Run on a worker."""
    refuse_others(versions)
    name, number, _ = key
    with _lock:
        if sent is not None:
            _held[key] = sent[0]
            for old in [k for k in _held if k[0] == name and k[1] <= number - HELD]:
                del _held[old]
        elif key not in _held:
            return _Missing()
        part = _held[key]
    return question(part)


def _forget(name: str) -> None:
    """Run on a worker."""
    with _lock:
        for key in [key for key in _held if key[0] == name]:
            del _held[key]


def crew_of(executor: Executor) -> Crew:
    """A crew of the threads, or the workers, of an executor."""
    if isinstance(executor, ClientExecutor):
        return ClientCrew(executor)
    return ThreadCrew(executor.threads)
