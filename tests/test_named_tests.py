"""Tables in docs/ and tests/README.md name tests, distmom/README.md files: all exist, as folders do."""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
OF_NO_ROOM = {"contract", "deploy", "docs", "fuzz", "pipelines", "reliability", "statistics", "stores"}
DOCS = TESTS.parent / "docs"
PLACES = {
    "faults": DOCS / "reliability/faults.md",
    "clusters": DOCS / "howto/clusters.md",
    "tests": TESTS / "README.md",
}


def named(text: str) -> set[str]:
    """Tests and files of tests in the rows of tables."""
    rows = [line for line in text.splitlines() if line.startswith("|")]
    return set(re.findall(r"`(?:[\w/]*/)?(test_\w+(?:\.py)?)`", "\n".join(rows)))


@pytest.mark.parametrize("place", PLACES)
def test_every_test_that_a_table_names_exists(place: str) -> None:
    files = list(TESTS.rglob("test_*.py"))
    there = {file.name for file in files}
    for file in files:
        there |= set(re.findall(r"^ *def (test_\w+)\(", file.read_text("utf-8"), re.M))
    names = named(PLACES[place].read_text("utf-8"))
    assert len(names) > 5
    assert not names - there


def test_names_are_found_in_tables_alone() -> None:
    assert named("| x | `test_a`, in `lake/`: `test_b.py` |\nsee `test_c`") == {"test_a", "test_b.py"}


def test_every_file_that_the_page_of_the_package_names_exists() -> None:
    root = TESTS.parent
    names = set(re.findall(r"`((?:\w+/)+\w+(?:\.py)?)`", (root / "distmom/README.md").read_text("utf-8")))
    assert len(names) > 20
    assert not [name for name in names if not ((root / "distmom" / name).exists() or (root / name).exists())]


def test_folders_of_tests_are_those_of_the_package() -> None:
    folders = {file.parent.relative_to(TESTS) for file in TESTS.rglob("test_*.py")}
    rooms = [folder for folder in folders if folder.parts and folder.parts[0] not in OF_NO_ROOM]
    assert len(rooms) > 30
    assert not [
        folder for folder in rooms if not (TESTS.parent / "distmom" / folder / "__init__.py").exists()
    ]


def test_no_two_files_of_tests_have_the_same_name() -> None:
    """pytest imports them by their base names."""
    names = [file.name for file in TESTS.rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))
