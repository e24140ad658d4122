"""What pages show and no test runs, since it needs a bucket or a cluster: its flags, names and keys exist."""

import ast
import re
import shlex
import tomllib
from collections.abc import Iterator

import click
import pytest
from documents import Block, blocks, pages

import distmom as dm
from distmom.cli.program import program
from distmom.lake.files.stores import _OPTIONS

PAGES = pages()


def commands(text: str) -> Iterator[list[str]]:
    """Words of each ``distmom`` command in blocks of ``sh``, without what stands around it."""
    for block in blocks(text):
        if block.language == "sh":
            for line in re.sub(r"\\\n", " ", block.text).splitlines():
                for part in re.findall(r"(?:^|[\s/;])(?<!install )distmom ([^;|]*)", line.split(" #")[0]):
                    yield shlex.split(part.split("2>")[0])


def unknown(words: list[str]) -> list[str]:
    """Flags that the command does not have, or the command itself."""
    if not words or words[0].startswith("-"):
        return []
    command = program.commands.get(words[0])
    if not isinstance(command, click.Command):
        return [words[0]]
    known = {name for one in command.params for name in (*one.opts, *one.secondary_opts)} | {"--help"}
    return [word for word in words[1:] if re.match(r"--?[a-z]", word) and word.partition("=")[0] not in known]


def of_language(name: str) -> list[tuple[str, Block]]:
    return [(page, b) for page, text in PAGES.items() for b in blocks(text) if b.language == name]


@pytest.mark.parametrize("page", PAGES)
def test_flags_of_commands_exist(page: str) -> None:
    assert not [word for words in commands(PAGES[page]) for word in unknown(words)]


def test_a_flag_that_does_not_exist_is_noticed() -> None:
    text = (
        "```sh\npip install distmom   # distmom\ndistmom mean LAKE --colour red -c x; distmom paint x\n```\n"
    )
    assert [unknown(words) for words in commands(text)] == [["--colour"], ["paint"]]


def test_python_that_is_not_run_compiles_and_names_what_exists() -> None:
    for page, block in of_language("py"):
        for node in ast.walk(ast.parse(block.text)):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "dm":
                assert node.attr in dm.__all__, (page, node.attr)


def test_names_in_prose_exist() -> None:
    """`dm.name` in any page, whether a test runs it or not."""
    seen = {name for text in PAGES.values() for name in re.findall(r"\bdm\.([A-Za-z_]+)", text)}
    assert len(seen) > 20
    assert not seen - set(dm.__all__)


def test_toml_can_be_read() -> None:
    found = of_language("toml")
    assert found
    for _, block in found:
        tomllib.loads(block.text)


def test_keys_of_results_are_those_of_their_classes() -> None:
    page = PAGES["docs/reference/json.md"]
    sections = re.findall(r"^### (\w+)\n\n.*\n\n((?:.+\n)+)", page, re.M)
    assert len(sections) == 8
    for kind, keys in sections:
        assert tuple(re.findall(r"`(\w+)`", keys)) == getattr(dm, kind).shown, kind


def test_options_of_stores_are_those_that_are_known() -> None:
    page = PAGES["docs/howto/object-stores.md"]
    rows = re.findall(r"^\| (S3|Google Cloud Storage|Azure|all) \| (.*) \|$", page, re.M)
    of_store = {name: set(re.findall(r"`(\w+)`", options)) for name, options in rows}
    for_all = of_store.pop("all")
    kinds = dict(zip(("S3", "Google Cloud Storage", "Azure"), ("s3", "gs", "abfs"), strict=True))
    assert {kinds[name]: options | for_all for name, options in of_store.items()} == {
        scheme: set(options) for scheme, options in _OPTIONS.items()
    }
