"""Schedulers and workers as programs of their own, that tests stop, cut off and kill."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import Popen
from typing import Any

from programs import program, wait_until

DASK = (sys.executable, "-m", "dask")
HERE = "127.0.0.1"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HERE, 0))
        return int(probe.getsockname()[1])


@dataclass
class Cluster:
    """A scheduler, and workers that have nannies; its programs end with the ``with`` block."""

    folder: Path
    port: int = field(default_factory=free_port)
    ending: ExitStack = field(default_factory=ExitStack)
    n_programs: int = 0

    @property
    def address(self) -> str:
        return f"tcp://{HERE}:{self.port}"

    def scheduler(self, **settings: str) -> Popen[bytes]:
        words = ("scheduler", "--host", HERE, "--port", self.port, "--no-dashboard")
        return self._started(words, settings)

    def workers(self, number: int, address: str = "", memory: str = "1GB", **settings: str) -> Popen[bytes]:
        words = ("worker", address or self.address, "--host", HERE, "--nthreads", 1, "--nworkers", number)
        more = ("--no-dashboard", "--memory-limit", memory, "--local-directory", self.folder / "scratch")
        return self._started((*words, *more), settings)

    def _started(self, words: tuple[object, ...], settings: Mapping[str, str]) -> Popen[bytes]:
        self.n_programs += 1
        log = self.folder / f"{words[0]}-{self.n_programs}.log"
        return self.ending.enter_context(program(*DASK, *words, log=log, **settings))

    @contextmanager
    def client(self, n_workers: int, address: str = "") -> Iterator[Any]:
        """A client, once so many workers are there."""
        from distributed import Client

        with Client(address or self.address, timeout=240, set_as_default=False) as client:
            client.wait_for_workers(n_workers, timeout=240)
            yield client


@contextmanager
def clusters(folder: Path) -> Iterator[Cluster]:
    folder.mkdir(parents=True, exist_ok=True)
    cluster = Cluster(folder)
    with cluster.ending:
        yield cluster


def processes(client: Any) -> list[int]:
    """Process numbers of the workers, in the order of their addresses."""
    return [pid for _, pid in sorted(client.run(os.getpid, on_error="ignore").items())]


def kill_one(client: Any) -> None:
    """SIGKILL to the worker of the least address; its nanny starts another."""
    for pid in processes(client)[:1]:
        with suppress(ProcessLookupError):  # died meanwhile
            os.kill(pid, signal.SIGKILL)


class Wire:
    """A TCP connection that can be cut: forwards to a port; cut, it ends all connections and takes none."""

    def __init__(self, port: int) -> None:
        self.target, self.port = port, free_port()
        self.open: list[socket.socket] = []
        self.listener: socket.socket | None = None
        self.lock = threading.Lock()

    @property
    def address(self) -> str:
        return f"tcp://{HERE}:{self.port}"

    def __enter__(self) -> Wire:
        self.mend()
        return self

    def __exit__(self, *_: object) -> None:
        self.cut()

    def mend(self) -> None:
        listener = socket.create_server((HERE, self.port))
        self.listener = listener
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def cut(self) -> None:
        with self.lock:
            ended, self.open = self.open, []
            if self.listener is not None:
                ended.append(self.listener)
            self.listener = None
        for one in ended:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection((HERE, self.target))
            except OSError:  # nobody there
                near.close()
                continue
            with self.lock:
                self.open += [near, far]
                if self.listener is not listener:
                    near.close()
                    far.close()
            for pair in ((near, far), (far, near)):
                threading.Thread(target=self._forward, args=pair, daemon=True).start()

    @staticmethod
    def _forward(source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                sink.sendall(data)
        for one in (source, sink):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


def ended(cluster: Cluster, process: Popen[bytes]) -> None:
    """SIGKILL, and wait until it is gone."""
    process.kill()
    wait_until(lambda: process.poll() is not None, "end of the process", 10)
