"""Kinds of batch jobs: one module each, with a `Job` called ``JOB`` whose name is the module's."""
