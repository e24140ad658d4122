"""Settings for all tests."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import warnings
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from shared import SHARED
from worker_processes import FourWorkers

from distmom.numerics.readiness import READINESS

if TYPE_CHECKING:
    from mean_lakes import SomeWorkers

settings.register_profile("default", derandomize=True, deadline=None, max_examples=10)
settings.register_profile("thorough", derandomize=True, deadline=None, max_examples=100)
settings.load_profile("default")

# Hundreds of processes start here: they find bytecode, whatever the shell says about writing it.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# Nothing here outlives the machine: waiting for the disk took ten milliseconds for each state and file.
os.fsync = lambda handle: None  # type: ignore[assignment]
# Two test processes and their workers fill two processors: more threads in each would wait for each other.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")
# Idle workers measure themselves less often: a dozen of them took a tenth of the machine.
os.environ.setdefault("DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__INTERVAL", "5s")
os.environ.setdefault("DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED", "False")
os.environ.setdefault("DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL", "1s")

KERNELS = pytest.StashKey[list[subprocess.Popen[bytes]]]()


READINESS.twins_first = False  # a test of a kernel calls it, kept or not


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--part", metavar="K/N", help="tests of part K of N alone; all K below N share them")


def pytest_configure(config: pytest.Config) -> None:
    """Compile all kernels once, while the test processes collect: else each of them would.

    And hear Ctrl-C: a shell starts background jobs with SIGINT ignored, which all children inherit, and the
    tests that interrupt a program would wait for ever.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    several = getattr(config.option, "numprocesses", None)
    if several and not hasattr(config, "workerinput"):
        code = "from distmom.numerics.warm_up import warm_up; warm_up(part={}, parts=2)"
        command = [sys.executable, "-c"]
        config.stash[KERNELS] = [subprocess.Popen([*command, code.format(part)]) for part in (0, 1)]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: object) -> None:
    """No test starts before the kernels are compiled."""
    for process in node.config.stash.get(KERNELS, []):  # type: ignore[attr-defined]
        assert process.wait() == 0, "the kernels cannot be compiled"


def pytest_unconfigure(config: pytest.Config) -> None:
    for process in config.stash.get(KERNELS, []):
        process.kill()
        process.wait()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Iterator[None]:
    """What is imported and collected stays: the garbage collector need not look at half a million objects."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder ``demo`` with both lakes of flights; its tests are a group, so that it is made once."""
    from pipelines import flights

    root = tmp_path_factory.mktemp("flights") / "demo"
    table = flights.flights()
    assert flights.write_lake(table, root / "clean") == 365
    assert flights.write_lake(table, root / "damaged", damaged=True) == 365
    return root


@pytest.fixture
def four_workers(tmp_path_factory: pytest.TempPathFactory) -> FourWorkers:
    return SHARED.get("four workers", lambda: closing(FourWorkers(str(tmp_path_factory.mktemp("dask")))))  # type: ignore[no-any-return]


@pytest.fixture
def client_of(four_workers: FourWorkers) -> Iterator[Callable[[int], SomeWorkers]]:
    """Make a client that uses so many of the four workers; with all four, also those started anew later."""
    from mean_lakes import SomeWorkers

    with ExitStack() as open_clients:

        def make(n_workers: int) -> SomeWorkers:
            client = SomeWorkers(four_workers.address(), set_as_default=False)
            open_clients.enter_context(client)
            workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
            client.chosen = tuple(workers[:n_workers]) if n_workers < 4 else ()
            return client

        yield make


def place(item: pytest.Item) -> object:
    """Group, or folder of a test without one."""
    mark = item.get_closest_marker("xdist_group")
    return mark.args[0] if mark else item.path.parent


def in_part(item: pytest.Item, part: str) -> bool:
    """Whether a test belongs to a part K/N, which its name alone decides."""
    k, n = map(int, part.split("/"))
    return zlib.crc32(item.nodeid.encode()) % n == k % n


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests of a group come first and together in one process, too: what they share has an end.

    Of the cases of a test marked ``one_in(n)`` one of each n and the last stay, the others are slow.
    """
    of_test: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("one_in") and not item.get_closest_marker("slow"):
            of_test[item.nodeid.partition("[")[0]].append(item)
        if "demo" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("flights"))
        if item.get_closest_marker("cluster"):  # closing comms leave sockets to the collector now and then
            item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning"))
            item.add_marker(pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"))
    for cases in of_test.values():
        n = cases[0].get_closest_marker("one_in").args[0]  # type: ignore[union-attr]
        for number, item in enumerate(cases):
            first = number % n == number // n % n  # along the diagonal where there are two parameters
            if not first and not number == len(cases) - 1 >= n:
                item.add_marker(pytest.mark.slow)
    if part := config.getoption("part"):
        others = [item for item in items if not in_part(item, part)]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if in_part(item, part)]
    items.sort(key=lambda item: place(item) if isinstance(place(item), str) else "~")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    yield
    if SHARED.is_open and (nextitem is None or place(item) != place(nextitem)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # of comms that close
            SHARED.close()
            gc.collect()
