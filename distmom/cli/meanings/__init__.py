"""What statuses, notes, exit codes and intervals mean: the table of ``distmom explain`` and the docs."""
