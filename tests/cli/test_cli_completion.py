"""What shells complete, asked as they ask: in scripts of real shells, and by the program alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from distmom.cli.completion.footer import column_names
from distmom.cli.completion.lake import columns_of
from distmom.cli.completion.names import KERNELS, LOSSES

HEAVY = ("numpy", "pyarrow", "scipy", "numba", "distributed", "dask", "rich", "pandas")


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake with folders of days, a list of its files, a damaged file, and the program by its name."""
    root = tmp_path_factory.mktemp("completion")
    table = pa.table(
        {
            "amount": [1.0, 2.0],
            "arrival": [1, 2],
            "a b": [1.0, 2.0],
            "inner": pa.array([{"arr": 1, "deep": {"x": [1]}}, None]),
            "after": ["x", "y"],
        }
    )
    folder = root / "lake" / "day=1"
    folder.mkdir(parents=True)
    pq.write_table(table, folder / "part.parquet")
    (root / "files.txt").write_text(f"# files\n{folder / 'part.parquet'}\n")
    (root / "bad.parquet").write_bytes(b"PAR1 nothing that could be read PAR1")
    program = root / "bin" / "distmom"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m distmom "$@"\n')
    program.chmod(0o755)
    return root


CASES = [
    ("mer", "", ["merge"]),
    ("mean --block", "", ["--block-by", "--block-size", "--blocks"]),
    ("mean --nan", " ", ["keep", "omit", "raise"]),
    ("mean lake -c ar", "", ["arrival"]),
    ("mean lake/day=1/part.parquet --weights am", "", ["amount"]),
    ("mean 'lake/*' --by d", "", ["day"]),
    ("mean @files.txt -c af", "", ["after"]),
    ("mean lake --block-by fi", "", ["file"]),
    ("mean lake --blocks", " ", ["auto", "paper"]),
    ("mean bad.parquet -c a", "", []),
    ("mean nowhere -c a", "", []),
    ("mean @nowhere.txt -c a", "", []),
    ("ustat lake --kernel ken", "", ["kendall", "kendall-b"]),
    ("tournament lake --loss ranking_l", "", ["ranking_logistic"]),
    ("mean lake --fail-on fi", "", ["files disagree"]),
    ("mean lake --fail-on any,fi", "", ["any,files disagree"]),
    ("explain no\\ i", "", ["no interval"]),
    ("init s", "", ["slurm", "summary"]),
    ("mean @fi", "", ["@files.txt"]),
    ("nothing", " ", []),
]


def environment(room: Path) -> dict[str, str]:
    path = os.pathsep.join([str(room / "bin"), os.environ["PATH"]])
    return {**os.environ, "PATH": path, "PYTHONPATH": os.pathsep.join(sys.path)}


def bash(room: Path, lines: list[tuple[str, str]]) -> list[list[str]]:
    """What bash would put in place of the last word of each line."""
    script = [
        'eval "$(_DISTMOM_COMPLETE=bash_source distmom)"',
        "declare -f _distmom_completion > /dev/null || exit 9",
    ]
    for line, last in lines:
        quoted = f"distmom {line}" + (" ''" if last else "")
        script += [
            # as bash has them: with quotes and backslashes
            f"COMP_WORDS=({' '.join(map(repr_of, raw_words(quoted)))})",
            "COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 )) COMPREPLY=()",
            "_distmom_completion distmom",
            'printf "%s\\n" "${COMPREPLY[@]}"',
            "echo ---",
        ]
    done = subprocess.run(
        ["bash", "--norc", "-c", "compopt() { :; }\n" + "\n".join(script)],
        cwd=room,
        env=environment(room),
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
    )
    assert done.stderr == ""
    answers = done.stdout.split("---\n")[:-1]
    return [[word for word in answer.split("\n") if word] for answer in answers]


def raw_words(line: str) -> list[str]:
    """Words as they are typed; the empty one for the cursor after a blank."""
    words = line.replace("\\ ", "\0").split(" ")
    return ["" if word == "''" else word.replace("\0", "\\ ") for word in words]


def repr_of(word: str) -> str:
    return "$'" + word.replace("\\", "\\\\").replace("'", "\\'") + "'"


def plain(words: list[str]) -> list[str]:
    return sorted(word.replace("\\ ", " ").replace("\\,", ",") for word in words)


@pytest.mark.slow
def test_in_a_real_bash(room: Path) -> None:
    found = bash(room, [(line, last) for line, last, _ in CASES])
    assert [plain(words) for words in found] == [sorted(wanted) for *_, wanted in CASES]


def test_words_with_spaces_are_quoted_in_bash(room: Path) -> None:
    [unquoted, quoted, column] = bash(
        room, [("mean lake --fail-on fi", ""), ("explain 'fil", ""), ("mean lake -c a\\ ", "")]
    )
    assert unquoted == ["files\\ disagree"]
    assert quoted == ["files disagree"]
    assert column == ["a\\ b"]


OTHERS = {
    "zsh": (
        "-f",
        "compdef() { :; }; compadd() { print -l -- ${(P)@[-1]}; }; "
        'eval "$(_DISTMOM_COMPLETE=zsh_source distmom)"; '
        "words=(distmom mean lake -c ar) CURRENT=5; _distmom_completion",
    ),
    "fish": (
        "--no-config",
        "_DISTMOM_COMPLETE=fish_source distmom | source; complete -C 'distmom mean lake -c ar'",
    ),
}


@pytest.mark.parametrize("shell", OTHERS)
@pytest.mark.slow
def test_in_other_shells_that_are_there(room: Path, shell: str) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"there is no {shell} here")
    flag, script = OTHERS[shell]
    words = [program, flag, "-c", script]
    done = subprocess.run(
        words, cwd=room, env=environment(room), capture_output=True, text=True, timeout=240, check=False
    )
    assert (done.stdout.split(), done.stderr) == (["arrival"], "")


SLOW = pytest.mark.slow


@pytest.mark.parametrize("shell", ["bash", pytest.param("zsh", marks=SLOW), pytest.param("fish", marks=SLOW)])
def test_every_shell_has_a_script_and_answers(room: Path, shell: str) -> None:
    def answer(wish: str, **words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-X", "importtime", "-m", "distmom"],
            env={**environment(room), "_DISTMOM_COMPLETE": f"{shell}_{wish}", **words},
            cwd=room,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        loaded = {line.rpartition("|")[2].strip().split(".")[0] for line in done.stderr.splitlines()}
        assert done.stderr and not loaded & set(HEAVY)
        assert "Traceback" not in done.stderr
        return done.stdout

    assert "_DISTMOM_COMPLETE" in answer("source")
    words = {"COMP_WORDS": "distmom mean lake -c ar", "COMP_CWORD": "ar" if shell == "fish" else "4"}
    assert "arrival" in answer("complete", **words)
    answer("complete", COMP_WORDS="distmom mean 'lake -c", COMP_CWORD="9")


def test_columns_are_those_that_arrow_reads(tmp_path: Path) -> None:
    struct = pa.struct([("a", pa.int32()), ("b", pa.list_(pa.struct([("c", pa.string())])))])
    columns = {f"col {i}": np.arange(3.0) for i in range(40)}
    nested = {
        "s": pa.array([None, {"a": 1, "b": [{"c": "x"}]}, None], struct),
        "m": pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.int64())),
        "größe": pa.array([1, 2, 3], pa.decimal128(9, 2)),
        "t": pa.array([0, 1, 2], pa.timestamp("us", "UTC")),
        "d": pa.array(["x", "y", "x"]).dictionary_encode(),
        "last": [True, False, None],
    }
    table = pa.table(columns | nested)
    for version in ("1.0", "2.6"):
        pq.write_table(table, tmp_path / "a.parquet", version=version)
        assert column_names(tmp_path / "a.parquet") == table.column_names


def test_whatever_a_file_holds_nothing_is_raised(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1.0], "y": ["a"]}), tmp_path / "a.parquet")
    whole = (tmp_path / "a.parquet").read_bytes()
    rng = np.random.default_rng(3)
    started = time.process_time()
    for trial in range(150):
        broken = bytearray(whole)
        for at in rng.integers(max(len(whole) - 400, 0), len(whole) - 8, 1 + trial % 5):
            broken[at] = rng.integers(256)
        (tmp_path / "b.parquet").write_bytes(broken)
        assert isinstance(column_names(tmp_path / "b.parquet"), list)
    for cut in range(0, len(whole), 7):
        (tmp_path / "b.parquet").write_bytes(whole[:cut])
        assert column_names(tmp_path / "b.parquet") == []
    assert time.process_time() - started < 60
    assert columns_of(["s3://bucket/lake", "", str(tmp_path / "none"), str(tmp_path / "a.parquet")]) == [
        "x",
        "y",
    ]


@pytest.mark.parametrize(
    "metadata",
    [
        b"\x15\x02\x19\x1c\x48\x01r\x15\x04\x00\x00",  # a root of two columns, and no other element
        b"\x15\x02" + b"\x1c" * 5_000,  # structs in structs
        b"\x15\x02\x29\xf1\xff\xff\xff\xff\xff\xff\x7f",  # a list of very many booleans
    ],
    ids=["too few", "too deep", "too many"],
)
def test_a_footer_that_does_not_hold_what_it_says(tmp_path: Path, metadata: bytes) -> None:
    file = tmp_path / "a.parquet"
    file.write_bytes(b"PAR1" + metadata + len(metadata).to_bytes(4, "little") + b"PAR1")
    assert column_names(file) == []


def test_names_are_those_of_the_tables() -> None:
    from distmom.estimators.tournament.options import pair_losses, row_losses
    from distmom.numerics.kernels.catalogue import KERNELS as TABLE

    assert tuple(TABLE) == KERNELS
    assert (*row_losses(), *pair_losses()) == LOSSES
