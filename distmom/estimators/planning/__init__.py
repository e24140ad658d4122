"""Planning without data: ways to take a mean or a statistic of pairs, side by side."""
