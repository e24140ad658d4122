"""The rule for the mean, applied to the blocks of columns and to those of a sample."""
