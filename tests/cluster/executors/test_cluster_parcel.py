"""Work on its way to workers: with the code of modules that they do not have."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from programs import ROOT

from distmom.cluster.executors.parcel import SMALL, Parcel, packed
from distmom.errors import is_own_code, place_of

SOURCE = """
import threading
import numba
import numpy as np
import travelling_more

LOCK = threading.Lock()
FACTOR = 2.0

def gap(a, b):
    return FACTOR * np.abs(a - b)

def through_another_module(a, b):
    return travelling_more.half(gap(a, b))

@numba.njit
def compiled(a, b):
    return abs(a - b)

def locked(a, b):
    with LOCK:
        return a

def wrong(a, b):
    return {}["nothing"]
"""
MORE = """
def half(x):
    return x / 2
"""
ELSEWHERE = """
import pickle, sys
from distmom.cluster.executors.parcel import Parcel
work = pickle.load(sys.stdin.buffer).open()
assert "travelling" not in sys.modules
print(work(1.0, 4.0))
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A module in a folder that only this process knows."""
    (tmp_path / "travelling.py").write_text(SOURCE)
    (tmp_path / "travelling_more.py").write_text(MORE)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield import_module("travelling")
    for name in ("travelling", "travelling_more"):
        sys.modules.pop(name)


def elsewhere(parcel: Parcel) -> subprocess.CompletedProcess[bytes]:
    """Unpacked and called in a process without the module."""
    command = [sys.executable, "-c", ELSEWHERE]
    return subprocess.run(command, input=pickle.dumps(parcel), capture_output=True, cwd=ROOT, check=False)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("through_another_module", "3.0"),
        pytest.param("gap", "6.0", marks=pytest.mark.slow),
        pytest.param("compiled", "3.0", marks=pytest.mark.slow),
    ],
)
def test_functions_of_modules_that_nobody_installed_travel(own: ModuleType, name: str, said: str) -> None:
    done = elsewhere(packed(getattr(own, name)))
    assert done.stdout.decode().strip() == said, done.stderr.decode()


def test_a_module_that_is_loaded_under_two_names_travels(
    own: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a script is, once `multiprocessing` is loaded."""
    monkeypatch.setitem(sys.modules, "__mp_travelling__", own)
    assert b"FACTOR" in packed(own.gap).payload


@pytest.mark.slow
def test_a_module_that_holds_a_lock_must_be_there_and_says_so(own: ModuleType) -> None:
    done = elsewhere(packed(own.locked))
    assert b"No module named 'travelling'" in done.stderr


def test_what_is_installed_goes_by_its_name_and_nothing_stays_registered(own: ModuleType) -> None:
    import cloudpickle
    import numpy as np

    assert len(packed(np.add.reduce).payload) < 100
    assert len(packed(Path).payload) < 100
    assert cloudpickle.list_registry_pickle_by_value() == set()


def test_small_work_is_unpacked_once_in_a_process_and_large_work_with_its_parcel(own: ModuleType) -> None:
    small = packed(own.gap)
    assert not small.large
    assert pickle.loads(pickle.dumps(small)).open() is pickle.loads(pickle.dumps(small)).open()
    large = packed(bytes(SMALL))
    assert large.large
    assert large.open() is large.open()
    assert pickle.loads(pickle.dumps(large)).open() is not large.open()


def test_many_threads_pack_at_once(own: ModuleType) -> None:
    parcels: list[Parcel] = []
    threads = [threading.Thread(target=lambda: parcels.append(packed(own.gap))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(parcels) == 8
    assert all(b"travelling_more" not in one.payload and b"FACTOR" in one.payload for one in parcels)


def test_the_place_of_an_error_is_that_of_the_user_s_code(own: ModuleType, tmp_path: Path) -> None:
    line = SOURCE.split("\n").index('    return {}["nothing"]') + 1
    for function in (own.wrong, pickle.loads(packed(own.wrong).payload)):  # also where it travelled
        with pytest.raises(KeyError) as caught:
            function(1, 2)
        assert place_of(caught.value) == f"{tmp_path}/travelling.py, line {line}"
    import json

    try:
        json.loads("{")
    except ValueError as error:
        error.__traceback__ = error.__traceback__.tb_next  # type: ignore[union-attr]
        assert place_of(error) == ""


def test_what_is_whose(own: ModuleType) -> None:
    import json

    import numpy as np

    import distmom

    assert is_own_code(own.__file__)
    for module in (json, np, distmom, threading):
        assert not is_own_code(module.__file__)
    assert not is_own_code(None)
    assert not is_own_code("/somewhere/own.cpython-311.so")
