"""The version of this package; imports nothing, so that every room may ask."""

VERSION = "0.1.0"
