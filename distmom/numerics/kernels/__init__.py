"""Kernels of U-statistics: functions averaged over pairs or triples of rows, and their fast block forms."""
