"""Running the passes of a mean: all groups at once, or range by range."""
