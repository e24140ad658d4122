"""Calls in a process of their own: what they ask of may end the process, or take all time or memory."""

from __future__ import annotations

import multiprocessing as mp
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, Literal, NamedTuple

import psutil

End = Literal["done", "dead", "time", "memory"]
PRELOADED = [
    "duckdb",
    "polars",
    "deltalake",
    "pyarrow.parquet",
    "scipy.stats",
    "distmom.estimators.mean.mean",
]
PRELOADED += ["distmom.estimators.describe.describe", "distmom.passes", "distmom.inference"]


class Ended(NamedTuple):
    """How a call ended, what it said until then, and why it ended."""

    how: End
    told: list[Any]
    why: str = ""


def apart(call: Callable[..., None], args: tuple[Any, ...], seconds: float, megabytes: float) -> Ended:
    """Let ``call(tell, *args)`` tell what it finds.

    Parameters
    ----------
    call : callable
        Is handed a function that sends one thing to the caller, then `args`.
    seconds : float
        From one thing told to the next; then the process is killed.
    megabytes : float
        Memory that the process may hold beside what it begins with.
    """
    context = mp.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(call, theirs, args), daemon=True)
    process.start()
    theirs.close()
    watched = psutil.Process(process.pid)
    told: list[Any] = []
    last = time.monotonic()
    first: int | None = None
    try:
        while True:
            if ours.poll(0.05):
                one = ours.recv()
                last = time.monotonic()
                if one is None:
                    return Ended("done", told)
                told.append(one[0])
                continue
            held = _held(watched)
            first = held if first is None else first
            if held - first > megabytes * 1e6:
                return Ended("memory", told, f"over {megabytes:,.0f} MB")
            if time.monotonic() - last > seconds:
                return Ended("time", told, f"over {seconds:,.0f} s")
    except EOFError:
        process.join()
        return Ended("dead", told, f"exit code {process.exitcode}")
    finally:
        process.kill()
        process.join()
        ours.close()


def _run(call: Callable[..., None], pipe: Connection, args: tuple[Any, ...]) -> None:
    call(lambda one: pipe.send((one,)), *args)
    pipe.send(None)


def _held(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:  # it has just ended, which its pipe tells
        return 0
