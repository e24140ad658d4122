"""Batch jobs: a TOML file says which, with what; a log, exit codes and files that appear whole.

The kinds that a file may name under ``pipeline`` are the modules of `distmom.jobs.kinds`, one each. A job of
one's own is a `Job` in a module of one's own that ends with ``if __name__ == "__main__": main(JOB)``: no file
can name it to ``distmom run``, since nothing that a file says is ever imported.

Jobs use the public names of `distmom` through the package (``dm.mean``), which loads them when a job runs: an
interrupt while they load is then an interrupt of the job, with its one line and exit code.
"""

from distmom.jobs.config import Config
from distmom.jobs.job import Job
from distmom.jobs.keys import OUTPUT, RUN, Key
from distmom.jobs.log_lines import MinuteLines, log
from distmom.jobs.main import main
from distmom.jobs.run import run_config

__all__ = ["OUTPUT", "RUN", "Config", "Job", "Key", "MinuteLines", "log", "main", "run_config"]
