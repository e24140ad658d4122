"""Public functions: check arguments, choose blocks, plan, run, wrap the result."""
