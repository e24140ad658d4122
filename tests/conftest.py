"""Settings for all tests."""

import signal
import subprocess
import sys

import pytest
from hypothesis import settings

settings.register_profile("default", derandomize=True, deadline=None, max_examples=40)
settings.register_profile("thorough", derandomize=True, deadline=None, max_examples=500)
settings.load_profile("default")


def pytest_configure(config: pytest.Config) -> None:
    """Compile all kernels once, before the test processes start: else each of them would.

    And hear Ctrl-C: a shell starts background jobs with SIGINT ignored, which all children inherit, and the
    tests that interrupt a program would wait for ever.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    several = getattr(config.option, "numprocesses", None)
    if several and not hasattr(config, "workerinput"):
        subprocess.run([sys.executable, "-m", "distmom.numerics"], check=True)
