"""Data of other projects, read by distmom and by readers that share no code with it."""
