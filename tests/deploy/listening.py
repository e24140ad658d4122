"""Where programs listen: the sockets of a process and its children, and what these answer over HTTP."""

from __future__ import annotations

import http.client
import ssl
from contextlib import suppress
from pathlib import Path
from socket import AF_INET, AF_INET6, inet_ntop
from typing import NamedTuple

import psutil

LISTENS = "0A"


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
    """Sockets of these processes and their children alone, in whatever network they are."""
    found = set()
    for process in family(*pids):
        with suppress(psutil.NoSuchProcess, OSError):
            found |= _of_process(Path(f"/proc/{process.pid}"))
    return found


def _of_process(place: Path) -> set[Listening]:
    """What the kernel tells of a process's network, of the sockets that it holds."""
    held = set()
    for file in (place / "fd").iterdir():
        with suppress(OSError):  # closed meanwhile
            held.add(str(file.readlink()))
    found = set()
    for table, kind in (("tcp", AF_INET), ("tcp6", AF_INET6)):
        for line in (place / "net" / table).read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == LISTENS and f"socket:[{words[9]}]" in held:
                address, _, port = words[1].partition(":")
                numbers = bytes.fromhex(address)  # words of four bytes, the last one first
                turned = b"".join(numbers[k : k + 4][::-1] for k in range(0, len(numbers), 4))
                found.add(Listening(inet_ntop(kind, turned), int(port, 16)))
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
