"""How Sphinx builds these pages: ``make docs``, with warnings as errors and without a network."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from distmom.version import VERSION

sys.path.insert(0, str(Path(__file__).parent))

project = "distmom"
author = "the distmom authors"
copyright = f"2026, {author}"
version = release = VERSION

extensions = [
    "myst_parser",  # pages are Markdown, as README is
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",  # docstrings
    "sphinx_click",  # commands
    "stacked_tables",  # tables on a telephone
]
exclude_patterns = ["_templates"]
templates_path = ["_templates"]

default_role = "autolink"  # `scan` in a docstring leads to it; names of parameters stay as they are
smartquotes = False  # two dashes before a flag are no dash

html_theme = "furo"
html_title = f"distmom {VERSION}"
html_static_path = ["_static"]
html_css_files = ["tables.css"]
html_show_sourcelink = False

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4

# types of parameters stand in the docstrings, in words; those of signatures would be links to other projects
autodoc_typehints = "none"
autosummary_generate = True
autosummary_ignore_module_all = False
numpydoc_show_class_members = False
numpydoc_xref_param_type = False


def escape_stars(_app: object, _ctx: object, lines: list[str]) -> None:
    """Help texts are plain, such as ``day=4/*``; Sphinx would take their stars for emphasis."""
    lines[:] = [line.replace("*", r"\*") for line in lines]


def block_of_examples(_app: object, _ctx: object, lines: list[str]) -> None:
    """The examples below a command are lines to copy."""
    words = [line.removeprefix("| ") for line in lines if line.strip()]
    lines[:] = [".. code-block:: sh", "", *(f"   {line}" for line in words), ""] if words else []


OF_THE_PACKAGE = frozenset(
    """
    apart as_sample blind blocks blocks_of bound bounded check check_columns closing combine counts degrees
    document drawn drawn_title ends entries entry_records fixed flat from_covariance has_units headers heading
    here imagined instead kind layout least_columns left_out level linear lines load marked more_tables
    most_lines name names number numbers open parts prepare prepared_value reach records remarks remedies
    said_as save scheme several shown shown_number shown_values start story telling told told_by unit v_form
    what with_number with_where without words
    """.split()  # noqa: SIM905  # a list of seventy lines is harder to read
)
"""Members by which the package's own rooms talk to public objects: nobody else calls them."""


def skip_members(_app: object, what: str, name: str, member: object, skip: bool, _options: object) -> bool:
    """What a class inherits from scikit-learn or Python is documented there; `OF_THE_PACKAGE` in the code."""
    home = getattr(member, "__module__", None) or "distmom"
    return skip or not home.startswith("distmom") or (what == "class" and name in OF_THE_PACKAGE)


def hide_fields(_app: object, what: str, _name: str, made: object, *_: object) -> tuple[str, None] | None:
    """Results are made by functions: their fields stand below, not in a signature."""
    home = getattr(made, "__module__", "")
    return ("", None) if what == "class" and home.startswith("distmom.report.kinds") else None


def leave_parameters(
    _app: object, _env: object, node: pending_xref, shown: nodes.Element
) -> nodes.Element | None:
    """A name without a dot in a docstring is a parameter or a field, unless it is a public name."""
    return shown if node["reftype"] == "obj" and "." not in node["reftarget"] else None


def add_gallery(app: Sphinx, failed: Exception | None) -> None:
    """Write the sample reports that the gallery shows, no more and no fewer."""
    if failed is not None or app.builder.format != "html":
        return
    from gallery_reports import write_gallery

    made = {page.name for page in write_gallery(Path(app.outdir) / "gallery")}
    shown = set(
        re.findall(r"gallery/(\w+\.html)", (Path(app.srcdir) / "howto/gallery.md").read_text("utf-8"))
    )
    if made != shown:
        raise ExtensionError(f"howto/gallery.md shows {sorted(shown)}, gallery_reports makes {sorted(made)}")


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("build-finished", add_gallery)
    app.connect("autodoc-skip-member", skip_members)
    app.connect("autodoc-process-signature", hide_fields)
    app.connect("missing-reference", leave_parameters)
    app.connect("sphinx-click-process-epilog", block_of_examples)
    for part in ("description", "options", "arguments"):
        app.connect(f"sphinx-click-process-{part}", escape_stars)
