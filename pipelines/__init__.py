"""Batch jobs: one runnable file each, with a TOML file that shows all it can be told."""
