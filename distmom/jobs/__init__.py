"""Batch jobs, configured by a TOML file, with a log, exit codes and output files that appear whole.

The kinds that a file may name under ``pipeline`` are the modules of `distmom.jobs.kinds`, one each. A custom
job is a `Job` in a module that ends with ``if __name__ == "__main__": main(JOB)``: a file cannot name it for
``distmom run``, because nothing named in a file is ever imported.

Jobs use the public names of `distmom` through the package (``dm.mean``), which loads them when a job runs: an
interrupt during loading is then an interrupt of the job, with a one-line message and exit code.
"""

from distmom.jobs.config import Config
from distmom.jobs.job import Job
from distmom.jobs.keys import OUTPUT, RUN, Key
from distmom.jobs.log_lines import MinuteLines, log
from distmom.jobs.main import main
from distmom.jobs.run import run_config

__all__ = ["OUTPUT", "RUN", "Config", "Job", "Key", "MinuteLines", "log", "main", "run_config"]
