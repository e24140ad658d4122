"""Whether two samples have one distribution."""
