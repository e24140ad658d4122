"""A small configuration, whose lines the tests count, and where the templates are."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
TEMPLATES = ROOT / "distmom/jobs/templates"

SUMMARY = """\
pipeline = "summary"

[data]
path = "lake"

[mean]
columns = ["x"]
by = "kind"

[output]
files = "out.json"
"""
