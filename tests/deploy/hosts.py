"""Several hosts on this machine: network namespaces with one address each, joined by a switch in another one.

Nothing of the machine's own network is touched. Needs root, and Debian's iproute2.
"""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass

import pytest
from programs import run, wait_until


@dataclass(frozen=True)
class Host:
    """A host: what runs `inside` sees its own loopback and the other hosts, and nothing else."""

    address: str
    namespace: str
    switch: str
    port: str

    def inside(self, *words: object) -> tuple[object, ...]:
        return ("ip", "netns", "exec", self.namespace, *words)

    def processes(self) -> list[int]:
        return [int(word) for word in _ip("netns", "pids", self.namespace).split()]

    def cut_off(self) -> None:
        """Pull the cable: nobody is told, and packets are lost."""
        _ip("-n", self.switch, "link", "set", self.port, "down")


@contextmanager
def hosts(*names: str) -> Iterator[dict[str, Host]]:
    """Hosts by name; whatever still runs on them at the end is killed."""
    with ExitStack() as stack:
        switch = stack.enter_context(_namespace("switch"))
        _ip("-n", switch, "link", "add", "bridge", "type", "bridge")
        _ip("-n", switch, "link", "set", "bridge", "up")
        made = {}
        for number, name in enumerate(names, 1):
            host = Host(f"192.0.2.{number}", stack.enter_context(_namespace(name)), switch, f"port{number}")
            cable = (
                "link",
                "add",
                host.port,
                "type",
                "veth",
                "peer",
                "name",
                "eth0",
                "netns",
                host.namespace,
            )
            _ip("-n", switch, *cable)
            _ip("-n", switch, "link", "set", host.port, "master", "bridge", "up")
            _ip("-n", host.namespace, "address", "add", f"{host.address}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                _ip("-n", host.namespace, "link", "set", device, "up")
            made[name] = host
        yield made


def skip_without(*programs: str) -> None:
    """Skip a test where its programs cannot run; continuous integration installs them, and never skips."""
    paths = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    absent = [name for name in ("ip", *programs) if shutil.which(name, path=paths) is None]
    if (absent or os.geteuid() != 0) and "CI" not in os.environ:
        pytest.skip(f"cannot be started here: {', '.join(absent) or 'not root'}")


@contextmanager
def _namespace(name: str) -> Iterator[str]:
    full = f"distmom-{os.getpid()}-{name}"
    _ip("netns", "add", full)
    try:
        yield full
    finally:
        for process in _ip("netns", "pids", full).split():
            with suppress(ProcessLookupError):
                os.kill(int(process), signal.SIGKILL)
        wait_until(lambda: not _ip("netns", "pids", full).split(), f"end of the processes in {full}")
        _ip("netns", "delete", full)


def _ip(*words: str) -> str:
    code, out, err = run("ip", *words)
    assert code == 0, err
    return out
