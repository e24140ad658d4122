"""A small configuration, whose lines the tests count."""

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
