"""Texts use the terms of docs/contributing/words.md: the words that its table retires are not found."""

import io
import re
import tokenize

from documents import ROOT, pages

from distmom.status import RETIRED_STATUSES

PAGE = "docs/contributing/words.md"

QUANTILES = (
    *("distmom/inference/share/ranks.py", "distmom/estimators/describe/answer.py"),
    "distmom/report/kinds/profile.py",
)
OTHER_MEANINGS = {"exact interval": QUANTILES, "exact intervals": QUANTILES}
"""Where a retired word has another meaning: intervals of quantiles by binomial ranks are exact."""

KEPT = frozenset(RETIRED_STATUSES)
"""Literals that name words of before, so that they can be refused or read."""


def retired(page: str) -> re.Pattern[str]:
    """The words in backticks of the third column; a line may end between two words."""
    rows = re.findall(r"^\|[^|\n]*\|[^|\n]*\|([^|\n]*)\|$", page, re.M)
    words = [word for cell in rows for word in re.findall(r"`([^`]+)`", cell)]
    assert len(words) > 20
    either = "|".join(re.escape(word).replace(r"\ ", r"\s+") for word in words)
    return re.compile(rf"(?<![\w-])(?:{either})(?![\w-])", re.I)


WORDS = retired(pages()[PAGE])


def texts(source: str) -> list[tuple[int, str]]:
    """String literals and docstrings of a module, each with its line; none where no word is anywhere."""
    if not WORDS.search(source):
        return []
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return [(t.start[0], t.string) for t in tokens if t.type == tokenize.STRING]


def found(place: str, line: int, text: str) -> list[str]:
    """Place and word of each retired word in a text."""
    said = []
    for match in WORDS.finditer("" if text.strip("\"'") in KEPT else text):
        word = " ".join(match[0].lower().split())
        if place not in OTHER_MEANINGS.get(word, ()):
            said.append(f"{place}:{line + text.count(chr(10), 0, match.start())}: {word!r}")
    return said


def test_no_text_has_a_retired_word() -> None:
    said = []
    for file in sorted((ROOT / "distmom").rglob("*.py")):
        for line, text in texts(file.read_text("utf-8")):
            said += found(str(file.relative_to(ROOT)), line, text)
    for name, text in pages().items():
        said += found(name, 1, text) if name != PAGE else []
    assert not said


def test_a_retired_word_is_noticed() -> None:
    module = 'def f():\n    """Of wild\n    rows."""\n    return f"the plain mean of {1}"\n'
    said = [one for line, text in texts(module) for one in found("x.py", line, text)]
    assert said == ["x.py:2: 'wild'", "x.py:4: 'plain mean'"]
    page = "a\nrow that is set\naside, Beyond capacity"
    assert found("x.md", 1, page) == ["x.md:2: 'set aside'", "x.md:3: 'beyond capacity'"]
    assert not found("x.md", 1, "a wildcard, a lawful half-widthless plain, mean")
    assert not found("x.py", 1, '"beyond capacity"') and found("x.py", 1, '"it is beyond capacity"')
    assert found("x.py", 1, "exact intervals") and not found(QUANTILES[0], 1, "exact intervals")


def test_words_with_another_meaning_are_in_use_there() -> None:
    """An exception that nothing needs any more goes."""
    for place in QUANTILES:
        assert re.search(r"exact intervals?\b", (ROOT / place).read_text("utf-8"), re.I)
