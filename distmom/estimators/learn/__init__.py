"""Robust descent on the rows of arrays and lakes: where rows come from, how it runs, the learners."""
