"""Requests to object stores are made again: one by one, after pauses that grow, for a bounded time."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from time import monotonic
from typing import TypeVar

from distmom.lake.files.store_errors import may_pass, store_error
from distmom.stopping import wait

T = TypeVar("T")

SECONDS = 120.0
"""A request is tried again as long as so many have not passed: thirty times, if each is refused at once."""
FIRST, MOST = 0.1, 10.0
"""Seconds, of which the pause after a failure is a random part: doubled with each one."""


@dataclass(frozen=True)
class Patience:
    """How long a request is tried again.

    Attributes
    ----------
    seconds : float
        No further attempt begins later than that after the first one began.
    attempts : int, optional
        Most attempts; by default as many as fit into the time.
    """

    seconds: float = SECONDS
    attempts: int | None = None

    def ask(self, request: Callable[[], T], what: str, reason: Callable[[], str | None] = lambda: None) -> T:
        """The answer to a request, which is made again where it failed for a reason that may pass.

        A FileNotFoundError is an answer. DataError, AccessError or ResourceError for other failures, with
        what the store said.

        Parameters
        ----------
        what : str
            How messages call what is asked for.
        reason : callable
            Asks the store why it refused a request whose refusal had no text.
        """
        started, bound = monotonic(), FIRST
        for n in count(1):
            try:
                return request()
            except FileNotFoundError:
                raise
            except OSError as error:
                took, pause = monotonic() - started, random.uniform(0, bound)
                last = n == self.attempts or took + pause > self.seconds
                if last or not may_pass(error):
                    raise store_error(error, what, reason, n, took) from error
            bound = min(2 * bound, MOST)
            wait(pause)
        raise AssertionError
