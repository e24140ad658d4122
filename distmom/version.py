"""The version of this package; imports nothing, so every package may import it."""

VERSION = "0.1.0"
