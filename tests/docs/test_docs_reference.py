"""The reference names every public name once, and nothing else."""

import re
from collections import Counter

from documents import DOCS
from meaning_tables import MARKED, PAGE, tables, with_tables

import distmom as dm


def test_every_public_name_is_in_the_reference_once() -> None:
    text = (DOCS / "reference/python.md").read_text("utf-8")
    lists = re.findall(r"^\.\. autosummary::\n   :toctree: api\n\n((?:   \w+\n)+)", text, re.M)
    names = Counter("".join(lists).split())
    assert len(lists) > 3 and set(names.values()) == {1}
    assert set(names) == set(dm.__all__) - {"__version__"}


def test_statuses_and_codes_are_those_that_the_program_explains() -> None:
    page = PAGE.read_text("utf-8")
    assert {found[1] for found in MARKED.findall(page)} == tables().keys()
    assert page == with_tables(page), "python tests/docs/meaning_tables.py writes the tables anew"
    assert with_tables(page.replace("| 7 | a status", "| 7 | the status")) == page
