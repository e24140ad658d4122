"""Lines of keys in TOML, and garbage in configurations."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from job_example import SUMMARY

from distmom import ConfigError
from distmom.jobs.config import checked, named_job
from distmom.jobs.keys import Key
from distmom.jobs.kinds.summary import JOB
from distmom.jobs.toml_file import key_lines, read_toml

TRICKY = '''\
# a = 1
top = """
[not.a.table]
a = 3 \\""" ""\\"
"""
"quoted # = key" = 'x = 1 # no comment' # [no] table
'lit"eral'.dotted . "k\\u0065y" = 1
[ spaced . "ta]ble" ]   # comment
inner = { a = 1, "b}" = "}", c = { d = [ 1, { e = 2 } ] } }
list = [
  "a = 1", # ]
  [ 1, 2,
    3 ],
  { f = 1 },
]
after = 1979-05-27 07:32:00
[[many]]
one = \'\'\'
x = \'\'\'\'\'
two = 0x1F
[[many]]
two = inf
[many.deep]
three = true'''


def test_lines_of_tricky_keys() -> None:
    tomllib.loads(TRICKY)
    assert key_lines(TRICKY) == {
        ("top",): 2,
        ("quoted # = key",): 6,
        ('lit"eral',): 7,
        ('lit"eral', "dotted"): 7,
        ('lit"eral', "dotted", "key"): 7,
        ("spaced",): 8,
        ("spaced", "ta]ble"): 8,
        ("spaced", "ta]ble", "inner"): 9,
        ("spaced", "ta]ble", "inner", "a"): 9,
        ("spaced", "ta]ble", "inner", "b}"): 9,
        ("spaced", "ta]ble", "inner", "c"): 9,
        ("spaced", "ta]ble", "inner", "c", "d"): 9,
        ("spaced", "ta]ble", "inner", "c", "d", "e"): 9,
        ("spaced", "ta]ble", "list"): 10,
        ("spaced", "ta]ble", "list", "f"): 10,
        ("spaced", "ta]ble", "after"): 16,
        ("many",): 17,
        ("many", "one"): 18,
        ("many", "two"): 20,
        ("many", "deep"): 23,
        ("many", "deep", "three"): 24,
    }


VALUES = st.sampled_from(
    [
        "1",
        '"a # b"',
        "'''\nx = 1\n'''",
        '"""\n[t]\n"""',
        "[1,\n 2, # ]\n 3]",
        "{ k = 1 }",
        "[{ k = '[' }]",
        "1.5e3",
        "true",
    ]
)
WORDS = st.sampled_from(["a", "b-c", "_d", '"e f"', "'g.h'", '"i\\tj"'])


@given(
    st.lists(
        st.tuples(WORDS, VALUES, st.sampled_from(["", " # x = [", "\n", "\n# ''' \n\n"])),
        unique_by=lambda line: line[0],
    ),
    st.booleans(),
)
def test_lines_are_where_they_were_written(statements: list[tuple[str, str, str]], with_table: bool) -> None:
    text = "[table]\n" if with_table else ""
    expected = {("table",): 1} if with_table else {}
    table = ("table",) if with_table else ()
    for word, value, behind in statements:
        key = next(iter(tomllib.loads(f"{word} = 1")))
        expected[*table, key] = text.count("\n") + 1
        text += f"{word} = {value}{behind}\n"
    tomllib.loads(text)
    found = key_lines(text)
    assert {path: line for path, line in found.items() if path[-1] != "k"} == expected


def refused(path: Path) -> str | None:
    """The one-line error of a configuration; None if it is good. Anything else is a failure of the test."""
    try:
        file = read_toml(path)
        named_job(file, [JOB.name])
        checked(file, JOB.tables)
    except ConfigError as error:
        assert str(path) in str(error)
        return str(error)
    return None


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("garbage") / "c.toml"


TOML_TEXT = st.lists(
    st.sampled_from(
        [*"[]{}=.,#\"'\n \\", '"""', "'''", "[[", "]]", "data", "mean", "run", "path", "by", "1", "é"]
    )
).map("".join)


@given(st.one_of(st.binary(), st.text().map(str.encode), TOML_TEXT.map(str.encode)))
@example(b"\xff = 1")
@example(b"a = " + b"[" * 5000)
@example(b"a = " + b"1" * 5000)
@example(b"\xef\xbb\xbfpipeline = 'summary'")
@example(b"a\rb")
@example(b"a = \x00")
@example(b"pipeline = 1979-05-27")
def test_garbage_is_one_error(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    assert refused(file) is not None


@given(st.integers(0, len(SUMMARY)), st.integers(0, 12), TOML_TEXT)
def test_damaged_configurations_are_errors_or_good(file: Path, start: int, length: int, put: str) -> None:
    file.write_text(SUMMARY[:start] + put + SUMMARY[start + length :])
    error = refused(file)
    if error is not None:
        assert ", line " in error


@given(
    st.sampled_from(["data", "mean", "run", "output"]),
    st.sampled_from(["path", "columns", "blocks", "tau", "seed", "files", "log", "unknown"]),
    st.recursive(
        st.one_of(st.integers(), st.text(st.characters(min_codepoint=32, max_codepoint=126)), st.booleans()),
        lambda v: st.lists(v, max_size=3),
        max_leaves=4,
    ),
)
def test_values_of_any_type_are_errors_or_good(file: Path, table: str, key: str, value: Any) -> None:
    import json

    text = f"pipeline = 'summary'\n[{table}]\n{key} = {json.dumps(value)}\n"
    text += "".join(f"[{t}]\n" for t in ("data", "output") if t != table)
    file.write_text(text)
    assert refused(file) is not None


def test_keys_and_kinds_are_well_formed() -> None:
    from distmom.jobs.keys import KINDS

    for keys in JOB.tables.values():
        for key in keys.values():
            assert isinstance(key, Key)
            assert key.kind in KINDS
