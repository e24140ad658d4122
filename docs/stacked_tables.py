"""Wide tables on a narrow screen: each row below the other, each cell behind the heading of its column.

A table whose columns cannot stand side by side on a telephone has the class ``stacked``, and its cells
have the heading as ``data-label``; `_static/tables.css` does the rest.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

WIDTH = 38
"""Letters of a line of a table on a telephone, at worst."""

CELL = 14
"""A sentence in a narrower column breaks after each word."""


def least(text: str) -> int:
    """How narrow a column with this text may be."""
    return max(min(len(text), CELL), *map(len, text.split()), 0)


def stack(_app: object, tree: nodes.document, _name: str) -> None:
    """Mark the tables that are too wide for a telephone."""
    for table in tree.findall(nodes.table):
        head = [
            cell.astext() for cell in next(table.findall(nodes.thead), nodes.thead()).findall(nodes.entry)
        ]
        rows = [list(row.findall(nodes.entry)) for row in table.findall(nodes.row)]
        widest = [max(least(cell.astext()) for cell in cells) for cells in zip(*rows, strict=False)]
        if not head or sum(widest) + 2 * len(widest) <= WIDTH:
            continue
        table["classes"].append("stacked")
        for row in rows[1:]:
            for cell, label in zip(row[1:], head[1:], strict=False):
                if cell.astext():
                    cell["label"] = label
                else:
                    cell["classes"].append("empty")


class LabelledCells(HTML5Translator):
    """HTML whose cells know the heading of their column."""

    def starttag(self, node: Any, tagname: str, suffix: str = "\n", empty: bool = False, **shown: Any) -> str:
        """The tag of a cell has its label."""
        if tagname.lower() == "td" and node.get("label"):
            shown["data-label"] = node["label"]
        return str(super().starttag(node, tagname, suffix, empty, **shown))


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("doctree-resolved", stack)
    app.set_translator("html", LabelledCells)
