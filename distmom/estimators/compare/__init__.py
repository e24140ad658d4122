"""Whether two samples have one law."""
