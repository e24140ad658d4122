"""State files: whole or as they were, and checked before the work."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from distmom.errors import ConfigError, DataError, ResourceError
from distmom.lake.files.atomic import atomic_file
from distmom.state import state as room
from distmom.state.container import Container
from distmom.state.state import check_state_path, read_state, write_state

LARGE = Container("test", {}, {"x": np.arange(100_000.0)})
SMALL = Container("test", {}, {"x": np.arange(3.0)})


def test_a_state_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "s"
    write_state(path, LARGE)
    write_state(path, SMALL)
    assert np.array_equal(read_state(path).arrays["x"], np.arange(3.0))
    assert [p.name for p in tmp_path.iterdir()] == ["s"]
    mask = os.umask(0)
    os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~mask


def test_a_failure_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s"
    write_state(path, SMALL)
    before = path.read_bytes()

    def fail(container: Container, sink: object) -> None:
        sink.write(b"half")  # type: ignore[attr-defined]
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(room, "write_container", fail)
    with pytest.raises(ResourceError, match=r"state '.*s' could not be written: No space left.*as it was"):
        write_state(path, LARGE)
    assert path.read_bytes() == before and [p.name for p in tmp_path.iterdir()] == ["s"]


def test_whatever_ends_the_block_leaves_nothing(tmp_path: Path) -> None:
    for error in (KeyboardInterrupt, ZeroDivisionError):
        with pytest.raises(error), atomic_file(tmp_path / "s") as temporary:
            temporary.write_bytes(b"half")
            raise error
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk(tmp_path: Path) -> None:
    """The system refuses to let the file grow, as a full disk does, in the middle of an array."""
    path = tmp_path / "s"
    write_state(path, SMALL)
    before = path.read_bytes()
    script = (
        "import numpy as np\n"
        "from pathlib import Path\n"
        "from distmom.errors import ResourceError\n"
        "from distmom.state.container import Container\n"
        "from distmom.state.state import write_state\n"
        "try:\n"
        f"    write_state(Path({str(path)!r}), Container('test', {{}}, {{'x': np.arange(1e6)}}))\n"
        "except ResourceError as error:\n"
        "    print(error)\n"
    )

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, preexec_fn=limit, check=True
    )
    assert "could not be written: File too large; the file is as it was before" in done.stdout
    assert path.read_bytes() == before and [p.name for p in tmp_path.iterdir()] == ["s"]


def test_what_is_no_state(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "text").write_text("a,b\n1,2\n")
    for name, words in (
        ("empty", "not a saved state"),
        ("text", "not a saved state"),
        ("none", "No such file"),
        (".", "directory"),
    ):
        with pytest.raises(DataError, match=rf"^state .*{words}"):
            read_state(tmp_path / name)


def test_a_file_larger_than_allowed_is_not_read(tmp_path: Path) -> None:
    write_state(tmp_path / "s", LARGE)
    with pytest.raises(ResourceError, match=r"^state .* has 1 MB, more than the 0 MB"):
        read_state(tmp_path / "s", 500_000)
    assert read_state(tmp_path / "s", 900_000).kind == "test"


def test_paths_are_checked_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_state_path(str(tmp_path / "s")) == tmp_path / "s"
    for wrong, words in (
        (tmp_path, "a folder of that name"),
        (tmp_path / "no" / "s", "no folder"),
        ("", "path"),
        (None, "path"),
        (b"s", "path"),
    ):
        with pytest.raises(ConfigError, match=words):
            check_state_path(wrong)  # type: ignore[arg-type]
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(ConfigError, match="not writable"):
        check_state_path(tmp_path / "s")
