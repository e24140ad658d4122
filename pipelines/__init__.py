"""Jobs of this repository, which are not installed: the demonstration, and the experiments of the paper."""
