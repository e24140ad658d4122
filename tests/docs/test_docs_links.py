"""Links between pages, and to headings, lead somewhere, also before Sphinx builds them."""

import re
from pathlib import Path

import pytest
from documents import DOCS, ROOT, pages, prose
from markdown_it import MarkdownIt

MORE = ("CONTRIBUTING.md", "CHANGELOG.md", "deploy/README.md", "distmom/README.md", "tests/README.md")
PAGES = pages() | {name: (ROOT / name).read_text("utf-8") for name in MORE}
LINKED = ("README.md", "CITATION.cff", *MORE)


def targets(text: str) -> list[str]:
    """What links and pictures point to, code left aside."""
    spans = [t for token in MarkdownIt("commonmark").parse(text) for t in token.children or ()]
    found = [t.attrGet("href") if t.type == "link_open" else t.attrGet("src") for t in spans]
    return [str(one) for one in found if one]


def with_included(page: Path) -> str:
    """The text of a page, and of what it includes."""
    text = page.read_text("utf-8")
    included = re.findall(r"^```{include} (\S+)$", text, re.M)
    return "\n".join([text, *((page.parent / one).read_text("utf-8") for one in included)])


def anchors(text: str) -> set[str]:
    """Names of headings, as MyST and GitHub make them."""
    titles = re.findall(r"^#{1,4} (.*)$", prose(text), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def broken(page: str, text: str) -> list[str]:
    wrong = []
    for target in targets(text):
        if re.match(r"\w+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = (ROOT / page).parent / path if path else ROOT / page
        known = there.exists() and (not anchor or anchor in anchors(with_included(there)))
        if not known:
            wrong.append(target)
    return wrong


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    assert not broken(page, PAGES[page])


def test_pages_of_docs_stay_among_themselves() -> None:
    """What lies outside of docs/ is not built, and a link to it would be dead on the built page."""
    for page, text in PAGES.items():
        if page.startswith("docs/"):
            for target in targets(text):
                if not re.match(r"\w+:", target) and target.partition("#")[0]:
                    assert DOCS in Path(ROOT / page).parent.joinpath(target).resolve().parents, (page, target)


def test_a_dead_link_is_noticed() -> None:
    text = "[a](b.md) ![c](d.png) [e](#no-heading) [f](#a-heading)\n\n# A heading\n\n`[g](h.md)`\n"
    assert broken("page.md", text) == ["b.md", "d.png", "#no-heading", "#a-heading"]
    assert anchors(text) == {"a-heading"}
    assert broken("docs/index.md", "[x](tutorials/first-answer.md#leave-it-out)") == []
