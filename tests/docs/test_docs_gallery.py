"""The sample reports of the documentation: those that its page shows, of data that it makes itself."""

import re
import sys
from pathlib import Path

import pytest
from documents import DOCS

sys.path.insert(0, str(DOCS))
from gallery_reports import KINDS, write_gallery


def test_the_page_shows_every_kind() -> None:
    text = (DOCS / "howto/gallery.md").read_text("utf-8")
    for attribute in ("href", "src"):
        assert re.findall(rf'{attribute}="\.\./gallery/(\w+)\.html"', text) == list(KINDS)


@pytest.mark.slow
def test_pages_are_of_the_kind_and_of_no_machine(tmp_path: Path) -> None:
    pages = {page.stem: page.read_text("utf-8") for page in write_gallery(tmp_path / "gallery")}
    assert list(pages) == list(KINDS) and not list(tmp_path.glob("gallery/*.parquet"))
    titles = {
        name: re.findall("<h1>(.*?)</h1>", text, re.S)[0].partition(":")[0] for name, text in pages.items()
    }
    assert titles == {
        "mean": "Robust mean",
        "groups": "Robust mean",
        "describe": "Robust profile of a lake",
        "difference": "Comparison of variants",
        "compare": "Comparison of two samples",
        "drift": "Comparison of two samples",
        "ustatistic": "Robust U-statistic",
        "tournament": "Tournament",
        "training": "Training",
    }
    assert all(text.count("Assumptions</h2>") == 1 and "/tmp" not in text for text in pages.values())
    assert "day-12.parquet" in pages["mean"] and "files disagree" not in pages["groups"]
