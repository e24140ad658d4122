"""Commands and examples of README and of all pages of docs/ print what the pages say."""

import re
from pathlib import Path

import pytest
from documents import blocks, pages
from reading import Reader

QUICK = {"README.md"}
"""The start of a stranger is tried by default; the other pages together take minutes."""

PAGES = {name: text for name, text in pages().items() if re.search(r"^```(console|python)$", text, re.M)}


def of_flights(text: str) -> bool:
    """Whether a page has the demonstration lake below, as after ``make demo``."""
    return any(re.search(r"\bdemo/", block.text) for block in blocks(text))


def cases(flights: bool) -> list[object]:
    marks = {name: () if name in QUICK else (pytest.mark.slow,) for name in PAGES}
    return [pytest.param(n, marks=marks[n]) for n in PAGES if of_flights(PAGES[n]) == flights]


def read(page: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "110")
    reader = Reader(page, folder)
    reader.read(blocks(PAGES[page]))
    assert reader.n_run


@pytest.mark.parametrize("page", cases(flights=False))
def test_a_page_prints_what_it_says(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read(page, tmp_path, monkeypatch)


@pytest.mark.parametrize("page", cases(flights=True))
def test_a_page_of_flights_prints_what_it_says(
    page: str, demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "demo").symlink_to(demo)
    read(page, tmp_path, monkeypatch)


@pytest.mark.parametrize(
    "page",
    [
        "```console\n$ distmom --version\ndistmom 9\n```\n",
        "```console\n$ distmom --version\n```\n",
        "```console\n$ distmom no-such-command\n$ echo $?\n0\n```\n",
        "```python\n>>> 1 + 1\n3\n```\n",
        "```python\nprint(1)\n```\n\n```text\n2\n```\n",
        "```console\n$ printf 'a\\nb\\n' | sort\na\nc\n```\n",
    ],
)
def test_a_page_that_is_wrong_is_noticed(page: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        Reader("page", tmp_path).read(blocks(page))
