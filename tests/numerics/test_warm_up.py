"""After `distmom warm-up` no command compiles anything."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from distmom.numerics.kernel_types import kernel_types
from distmom.numerics.warm_up import kernel_modules

COUNTED = """
import sys
from numba.core.event import Listener, register
class Compiled(Listener):
    def on_start(self, event):
        print(event.data["dispatcher"].py_func.__qualname__, event.data["args"], file=sys.stderr)
    def on_end(self, event):
        pass
register("numba:compile", Compiled())
from distmom.cli.program import program
from distmom.numerics.readiness import READINESS
READINESS.twins_first = False
sys.exit(program.run(sys.argv[1:]))
"""
COMMANDS = {
    "mean": "mean LAKE -c x",
    "nulls": "mean LAKE -c z --where g<40",
    "weights": "mean LAKE -c x --weights w",
    "chunks": "mean LAKE -c x --chunk-rows 10",
    "stored": "mean LAKE -c x --order stored",
    "samples": "mean LAKE -c x --scheme swor --blocks 31 --block-size 1000",
    "units": "mean LAKE -c x --block-by g",
    "groups": "mean LAKE -c x --by g",
    "text groups": "mean LAKE -c x --by t --weights w",
    "describe": "describe LAKE",
    "covariance": "ustat LAKE -c x -c w --kernel covariance",
    "kendall": "ustat LAKE -c x -c w --kernel kendall",
    "distance": "ustat LAKE -c x -c w --kernel distance --where x>2 --blocks 4",
    "weighted distance": "ustat LAKE -c x -c z --kernel distance --where x>2 --weights w --blocks 4",
}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Enough bytes for kernels."""
    folder, n = tmp_path_factory.mktemp("warm") / "lake", 400_000
    folder.mkdir()
    for i in range(3):
        rng = np.random.default_rng(i)
        x, g = rng.normal(size=n), rng.integers(0, 50, n)
        columns = {"x": x, "w": rng.random(n) + 0.5, "z": pa.array(rng.normal(size=n), mask=g == 7), "g": g}
        table = pa.table({**columns, "t": pa.array([f"t{k}" for k in g]).dictionary_encode()})
        pq.write_table(table, folder / f"{i}.parquet")
    return folder


@pytest.fixture(scope="module")
def warm() -> dict[str, str]:
    """The environment of a machine on which the command was run."""
    subprocess.run([sys.executable, "-m", "distmom", "warm-up"], check=True, capture_output=True)
    return dict(os.environ)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_no_command_compiles_after_it(command: str, lake: Path, warm: dict[str, str]) -> None:
    words = [str(lake) if word == "LAKE" else word for word in command.split()]
    run = subprocess.run(
        [sys.executable, "-c", COUNTED, *words, "--quiet"], capture_output=True, text=True, env=warm
    )
    assert run.returncode in (0, 5), run.stderr
    assert run.stderr == ""


def test_all_modules_of_kernels_are_found() -> None:
    found = kernel_modules()
    assert "distmom.numerics.lookup_compiled" in found
    assert "distmom.numerics.pairs.tiles_compiled" in found


def test_types_are_written_shortly() -> None:
    shown = "(=f8[] i8) none u2[,] ()"
    pair, none, table, nothing = map(str, kernel_types(shown))
    assert pair == "Tuple(readonly array(float64, 1d, C), int64)"
    assert (none, table, nothing) == ("none", "array(uint16, 2d, C)", "Tuple()")
