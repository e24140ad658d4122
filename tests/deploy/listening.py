"""Where programs listen: the sockets of a process and its children, and what these answer over HTTP."""

from __future__ import annotations

import http.client
import ssl
from contextlib import suppress
from typing import NamedTuple

import psutil


class Listening(NamedTuple):
    """A TCP socket that takes connections."""

    address: str
    port: int

    @property
    def loopback(self) -> bool:
        return self.address in ("127.0.0.1", "::1")

    @property
    def reached(self) -> str:
        """An address at which this machine reaches it."""
        return "127.0.0.1" if self.address in ("0.0.0.0", "::") else self.address


def family(*pids: int) -> list[psutil.Process]:
    """Processes and all their children."""
    found = []
    for pid in pids:
        with suppress(psutil.NoSuchProcess):
            process = psutil.Process(pid)
            found += [process, *process.children(recursive=True)]
    return found


def listening(*pids: int) -> set[Listening]:
    """Sockets of these processes and their children alone."""
    found = set()
    for process in family(*pids):
        with suppress(psutil.NoSuchProcess):
            for one in process.net_connections("tcp"):
                if one.status == psutil.CONN_LISTEN:
                    found.add(Listening(one.laddr.ip, one.laddr.port))
    return found


def answered(socket: Listening, path: str, *, encrypted: bool = False) -> int | None:
    """Status that a stranger gets, None where nobody speaks HTTP with him."""
    if encrypted:
        strange = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        strange.check_hostname, strange.verify_mode = False, ssl.CERT_NONE
        web: http.client.HTTPConnection = http.client.HTTPSConnection(
            socket.reached, socket.port, timeout=5, context=strange
        )
    else:
        web = http.client.HTTPConnection(socket.reached, socket.port, timeout=5)
    try:
        web.request("GET", path)
        return web.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        web.close()
