"""The reference names every public name once, and nothing else."""

import re
from collections import Counter

from documents import DOCS

import distmom as dm


def test_every_public_name_is_in_the_reference_once() -> None:
    text = (DOCS / "reference/python.md").read_text("utf-8")
    lists = re.findall(r"^\.\. autosummary::\n   :toctree: api\n\n((?:   \w+\n)+)", text, re.M)
    names = Counter("".join(lists).split())
    assert len(lists) > 3 and set(names.values()) == {1}
    assert set(names) == set(dm.__all__) - {"__version__"}
