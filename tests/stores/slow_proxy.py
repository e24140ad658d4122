"""A proxy in front of an object store, which refuses or damages some answers and remembers all requests."""

from __future__ import annotations

import http.client
import random
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import NamedTuple

_DROPPED = {"connection", "transfer-encoding", "content-length", "date", "server"}


class Request(NamedTuple):
    method: str
    path: str
    range: str | None

    @property
    def lists(self) -> bool:
        return "list-type=2" in self.path


class Fault(NamedTuple):
    """What becomes of some of the answers.

    ``kind`` is a status (with an error code in the body, as "429 TooManyRequests", or without), or "reset"
    (instead of an answer), "cut" (the connection ends in the middle of the body), "short" (half of the body,
    and its length says so) or "silent" (no answer for as long as anybody waits).
    """

    kind: str
    share: float
    of: Callable[[Request], bool] = lambda request: True


class Proxy:
    """Forwards to ``127.0.0.1:port``; as a context manager it listens at ``self.endpoint``.

    Parameters
    ----------
    every : int
        Answer every so manyeth request with 503 SlowDown; 0 for none, 1 for all.
    good_for : int, optional
        Requests after which the token has expired.
    refused : str, optional
        Error code of all answers, with 403.
    pause : float
        Seconds before each answer.
    fault : Fault, optional
        What becomes of other answers, at random with a fixed seed.
    """

    def __init__(
        self,
        port: int,
        *,
        every: int = 0,
        good_for: int | None = None,
        refused: str = "",
        pause: float = 0.0,
        fault: Fault | None = None,
    ) -> None:
        self.fault, self.n_faults, self.open = fault, 0, threading.Event()
        self._chance = random.Random(1)
        self.every, self.good_for, self.refused, self.pause = every, good_for, refused, pause
        self.requests: list[Request] = []
        self.in_flight = self.most_in_flight = self.n_slowed = 0
        self._lock = threading.Lock()
        self._server = _Server(self, port)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Counts one more answer that is under way."""
        with self._lock:
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            time.sleep(self.pause)
            yield
        finally:
            with self._lock:
                self.in_flight -= 1

    def refusal(self, request: Request) -> tuple[int, str] | None:
        """Status and error code, or None for what is forwarded."""
        with self._lock:
            self.requests.append(request)
            number = len(self.requests)
            if self.refused:
                return 403, self.refused
            if self.good_for is not None and number > self.good_for:
                return 403, "ExpiredToken"
            if self.every and number % self.every == 0:
                self.n_slowed += 1
                return 503, "SlowDown"
        return None

    def fault_of(self, request: Request) -> str:
        """The kind of fault, or an empty text. What has no body cannot be cut."""
        with self._lock:
            fault = self.fault
            if fault is None or not fault.of(request) or self._chance.random() >= fault.share:
                return ""
            if fault.kind in ("cut", "short") and request.method != "GET":
                return ""
            self.n_faults += 1
            return fault.kind

    def __enter__(self) -> Proxy:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.open.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    """Listens for a proxy, and knows the port of the store."""

    daemon_threads = True

    def __init__(self, proxy: Proxy, port: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.proxy, self.port = proxy, port


class _Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server: _Server

    def answer(self) -> None:
        proxy = self.server.proxy
        with proxy.answering():
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            request = Request(self.command, self.path, self.headers.get("Range"))
            error = proxy.refusal(request)
            if error is not None:
                self.refuse(*error)
                return
            fault = proxy.fault_of(request)
            if fault == "reset":
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.close_connection = True
                self.connection.close()
            elif fault == "silent":
                proxy.open.wait(60)
                self.close_connection = True
            elif fault[:1].isdigit():
                self.refuse(int(fault[:3]), fault[4:])
            else:
                self.forward(body, fault)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = answer

    def forward(self, body: bytes, fault: str) -> None:
        """Answer as the store does, or with a part of it."""
        upstream = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=30)
        upstream.request(self.command, self.path, body, dict(self.headers))
        got = upstream.getresponse()
        data = got.read()
        self.send_response(got.status)
        for name, value in got.getheaders():
            if name.lower() not in _DROPPED:
                self.send_header(name, value)
        sent = data[: len(data) // 2] if fault in ("cut", "short") else data
        stated = sent if fault == "short" else data
        length = got.headers["Content-Length"] if self.command == "HEAD" else str(len(stated))
        self.send_header("Content-Length", length or "0")
        self.end_headers()
        self.wfile.write(sent)
        if fault == "cut":
            self.wfile.flush()
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        upstream.close()

    def refuse(self, status: int, code: str) -> None:
        text = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>Not now.</Message></Error>"
        text = text if code else ""
        self.send_response(status)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text.encode())

    def log_message(self, *words: object) -> None:
        pass
