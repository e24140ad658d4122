"""What a shell completes: commands, flags, choices, kernels, paths, columns; loads nothing heavy."""
