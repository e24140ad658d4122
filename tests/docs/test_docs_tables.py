"""Tables of the documentation that are too wide for a telephone are stacked there, cell below cell."""

import sys

import pytest
from documents import DOCS

pytest.importorskip("sphinx", reason="make docs installs it")
from docutils.core import publish_doctree
from docutils.nodes import entry, table

sys.path.insert(0, str(DOCS))
from stacked_tables import stack

PAGE = r"""
====== ===============================================
status what it means
====== ===============================================
ok     two columns of sentences can stand side by side
====== ===============================================

====== ===================== =====================
status what was done about   what to do about this
====== ===================== =====================
ok     nothing was necessary
lost                         look for the others
====== ===================== =====================

====== ===== ===== =====
rows   one   two   three
====== ===== ===== =====
1,000  0.95  0.96  0.97
====== ===== ===== =====

=== === === === === === === === ===
n   a   b   c   d   e   f   g   h
=== === === === === === === === ===
100 0.9 0.9 0.9 0.9 0.9 0.9 0.9 0.9
=== === === === === === === === ===
"""


def test_wide_tables_are_stacked_and_narrow_ones_are_not() -> None:
    tree = publish_doctree(PAGE)
    stack(None, tree, "page")
    assert [("stacked" in t["classes"]) for t in tree.findall(table)] == [False, True, False, True]
    wide = list(tree.findall(table))[1]
    cells = [(cell.astext(), cell.get("label"), cell["classes"]) for cell in wide.findall(entry)][3:]
    assert cells == [  # the first cell is the title, and an empty one is not shown
        *(("ok", None, []), ("nothing was necessary", "what was done about", []), ("", None, ["empty"])),
        *(("lost", None, []), ("", None, ["empty"]), ("look for the others", "what to do about this", [])),
    ]
