"""The twins of ``blocks`` for rows that have weights."""
