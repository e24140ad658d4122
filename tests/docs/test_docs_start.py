"""README stays a start, and says of itself what is true."""

import tomllib
from pathlib import Path

import pytest
import yaml
from documents import DOCS, ROOT, blocks, pages

from distmom.version import VERSION


def test_readme_stays_short() -> None:
    readme = pages()["README.md"]
    assert len(readme.splitlines()) <= 150
    assert next(b for b in blocks(readme) if b.language == "python").text.count("\n") <= 20


def test_the_picture_is_small() -> None:
    assert 10_000 < (DOCS / "_static/report.png").stat().st_size < 200_000


@pytest.mark.slow
def test_the_picture_shows_the_words_of_today(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If not, ``python -m tests.docs.picture`` takes it again."""
    monkeypatch.syspath_prepend(ROOT)
    from tests.docs.picture import WORDS, words_of, write_report

    monkeypatch.chdir(tmp_path)
    assert words_of(write_report()) == WORDS.read_text("utf-8")


def test_the_citation_is_of_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["version"] == VERSION
    assert citation["license"] == "BSD-3-Clause"


def test_readme_shows_all_extras_of_users() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    readme = pages()["README.md"]
    assert len(extras) > 4
    assert not [name for name in extras if name != "demo" and f"'distmom[{name}]'" not in readme]
    (every,) = extras["all"]
    assert every == f"distmom[{','.join(name for name in extras if name not in ('demo', 'all'))}]"
