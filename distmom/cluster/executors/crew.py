"""Those who hold parts of something and answer small questions about them, again and again.

A question travels to each part and an answer comes back; the parts themselves travel once. A part that is
gone, with its process, is sent again with the question, so the answers never depend on who gives them.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from contextlib import suppress
from typing import Any

from distmom.cluster.executors.client import ClientExecutor
from distmom.cluster.executors.versions import decisive_here, refuse_others
from distmom.cluster.failures import one_line
from distmom.cluster.interrupts import EVERY, interrupts
from distmom.cluster.outcome import Executor

PATIENCE = 20.0
"""Seconds that an answer may take; whoever asks had better answer it himself then."""

Question = Callable[[Any], Any]
"""Takes a part; picklable, as is what it returns."""


class CrewLostError(Exception):
    """Nobody answers, or what was asked failed."""


class ThreadCrew:
    """Threads of this process.

    Attributes
    ----------
    size : int
        Parts that are worked on at the same time.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._parts: Sequence[Any] = ()
        self._pool = ThreadPoolExecutor(size, thread_name_prefix="distmom-crew")

    def hold(self, parts: Sequence[Any]) -> None:
        """Hold these parts, and forget those before."""
        self._parts = parts

    def ask(self, questions: Sequence[tuple[int, Question]]) -> list[Any]:
        """Answers to questions, each about the part of that number."""
        others = [self._pool.submit(question, self._parts[part]) for part, question in questions[1:]]
        first = [question(self._parts[part]) for part, question in questions[:1]]
        return first + [other.result() for other in others]

    def close(self) -> None:
        """Forget all parts."""
        self._pool.shutdown()
        self._parts = ()


class ClientCrew:
    """Workers of a cluster, over which Dask scatters the parts."""

    def __init__(self, executor: ClientExecutor) -> None:
        self.size = executor.threads
        self._executor = executor
        self._client = executor.client
        self._parts: Sequence[Any] = ()
        self._held: list[Any] = []

    def hold(self, parts: Sequence[Any]) -> None:
        """Remember the parts, which travel with the first question about one of them."""
        self._parts, self._held = parts, []

    def ask(self, questions: Sequence[tuple[int, Question]]) -> list[Any]:
        """Answers of the workers. CrewLostError if they do not come within seconds."""
        futures: list[Any] = []
        try:
            if any(part.status != "finished" for part in self._held):  # gone with their worker
                self._held = []
            if not self._held:
                self._held = self._within(self._client.scatter, list(self._parts), hash=False)
            for part, question in questions:
                key = f"distmom-step-{uuid.uuid4().hex}"
                asked = (decisive_here(), question, self._held[part])
                futures.append(self._client.submit(_answer, *asked, key=key, pure=False))
            return self._within(self._client.gather, futures)
        except Exception as error:
            self._held = []
            with suppress(Exception):
                self._client.cancel(futures)
            raise CrewLostError(one_line(error)) from error

    def _within(self, call: Callable[..., Any], *arguments: Any, **options: Any) -> list[Any]:
        """What a call of the client gives, within `PATIENCE`; an interrupt is heard meanwhile."""

        async def answer() -> list[Any]:
            return list(await asyncio.wait_for(call(*arguments, **options, asynchronous=True), PATIENCE))

        coming = asyncio.run_coroutine_threadsafe(answer(), self._client.loop.asyncio_loop)
        while not wait_for([coming], EVERY).done:
            interrupts.check()
        return coming.result()

    def close(self) -> None:
        """Have the workers forget what they hold."""
        self._parts, self._held = (), []


def _answer(versions: tuple[str, ...], question: Question, part: Any) -> Any:
    """Run on a worker."""
    refuse_others(versions)
    return question(part)


Crew = ThreadCrew | ClientCrew


def crew_of(executor: Executor) -> Crew:
    """A crew of the threads, or the workers, of an executor."""
    if isinstance(executor, ClientExecutor):
        return ClientCrew(executor)
    return ThreadCrew(executor.threads)
