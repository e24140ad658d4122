"""The rule for the mean: what it says of the blocks of columns, and of those of a sample."""
