"""Where kernels are kept: also without a home, never where others may write, and from an image."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from distmom.numerics import kernel_folder as module
from distmom.numerics.kernel_folder import kernel_folder

SHOW = "from distmom.numerics.kernel_folder import kernel_folder as f; print(f())"
KEEP = "from distmom.numerics.losses.cell_sums import _kernels as k; k.add_values"
ROOT = hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("setpriv") is not None


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A package that can only be read; its user's home and temporary files are in the folder."""
    monkeypatch.setattr(module, "BESIDE", Path("/proc/none"))
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "DISTMOM_KERNELS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    kernel_folder.cache_clear()
    return tmp_path


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    yield
    kernel_folder.cache_clear()


def test_the_home_comes_before_temporary_files(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert kernel_folder() == installed / "home/.cache/distmom/kernels"
    monkeypatch.setenv("XDG_CACHE_HOME", str(installed / "cache"))
    kernel_folder.cache_clear()
    assert kernel_folder() == installed / "cache/distmom/kernels"


def test_a_folder_of_temporary_files_is_ours_alone(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/proc/none")
    folder = kernel_folder()
    assert folder is not None
    assert folder.parent == installed / "tmp"
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o777)  # others could put code there
    kernel_folder.cache_clear()
    assert kernel_folder() is None
    folder.rmdir()
    folder.symlink_to(installed)
    kernel_folder.cache_clear()
    assert kernel_folder() is None


def test_kernels_of_an_image_are_copied_once(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    image = installed / "image" / "blocks_1"
    image.mkdir(parents=True)
    (image / "a.nbi").write_bytes(b"index")
    (image / "a.1.nbc").write_bytes(b"code")
    monkeypatch.setenv("DISTMOM_KERNELS", str(installed / "image"))
    folder = kernel_folder()
    assert folder is not None
    assert sorted(file.name for file in (folder / "blocks_1").iterdir()) == ["a.1.nbc", "a.nbi"]
    (folder / "blocks_1" / "a.nbi").write_bytes(b"newer")
    kernel_folder.cache_clear()
    assert kernel_folder() == folder
    assert (folder / "blocks_1" / "a.nbi").read_bytes() == b"newer"


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users may look into, as those of tests are not."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.slow
@pytest.mark.skipif(not ROOT, reason="only root can be another user")
def test_an_unknown_user_without_a_home_keeps_kernels(open_folder: Path) -> None:
    """Nothing can be written but the folder of temporary files; and then the only folder cannot."""
    package = Path(module.__file__).parents[2]
    copy = open_folder / "read"
    shutil.copytree(package / "distmom", copy / "distmom", ignore=shutil.ignore_patterns("__pycache__"))
    rest = open_folder / "tmp"
    rest.mkdir()
    rest.chmod(0o1777)
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(copy), "TMPDIR": str(rest)}
    may = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]  # read Python, wherever it is
    user = ["setpriv", "--reuid=54321", "--regid=54321", "--clear-groups", *may]

    def as_user(code: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*user, sys.executable, "-P", "-c", code],
            capture_output=True,
            text=True,
            env=env,
            cwd="/",
            check=True,
        )

    assert as_user(SHOW).stdout == f"{rest / 'distmom-kernels-54321'}\n"
    assert as_user(KEEP).stderr == ""
    assert list(rest.rglob("*.nbc"))
    env["NUMBA_CACHE_DIR"] = str(copy / "kernels")
    assert as_user(SHOW).stdout == "None\n"
    assert as_user(KEEP).stderr == ""
