"""Without scikit-learn everything but the learners works, and they say what is missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HIDDEN = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "sklearn":
            raise ModuleNotFoundError("No module named 'sklearn'", name="sklearn")
sys.meta_path.insert(0, Hidden())
import distmom as dm
"""


def run(code: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    told = [sys.executable, "-c", HIDDEN + code]
    return subprocess.run(told, capture_output=True, text=True, timeout=240, check=False, cwd=folder)


@pytest.mark.slow
def test_looking_at_the_package() -> None:
    code = """
import inspect, pydoc
assert hasattr(dm, "RobustKMeans") and hasattr(dm, "train")
assert "RobustKMeans" in dict(inspect.getmembers(dm))
assert "robust" in pydoc.render_doc(dm).lower()
from distmom import *
print(mean([1.0] * 300).n_rows)
"""
    ended = run(code)
    assert (ended.returncode, ended.stdout) == (0, "300\n"), ended.stderr


def test_a_learner_says_what_it_needs() -> None:
    for call in ("dm.RobustKMeans(3)", "dm.train('x', 'regression')", "dm.load_model('m')"):
        ended = run(f"try:\n    {call}\nexcept ImportError as error:\n    print(error)\n")
        assert "pip install 'distmom[learn]'" in ended.stdout, ended.stderr


def test_the_command_says_so_in_one_line(tmp_path: Path) -> None:
    job = 'pipeline = "train"\n[data]\npath = "x"\n[train]\nlearner = "regression"\ntarget = "y"\n'
    job += "[output]\nfiles = ['m.json']\n"
    (tmp_path / "job.toml").write_text(job)
    code = "from distmom.cli.program import program\nsys.exit(program.run(['train', 'job.toml', '--quiet']))"
    ended = run(code, tmp_path)
    assert ended.returncode == 2
    assert ended.stderr == "distmom: distmom.train needs scikit-learn: pip install 'distmom[learn]'\n"
