"""All cases: a name, and a call of the public interface."""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import distmom as dm
from tests.contract import (
    cases_compared,
    cases_explain,
    cases_learn,
    cases_mean,
    cases_refused,
    cases_samples,
    cases_tournament,
    cases_ustat,
)
from tests.contract.flatten import flat
from tests.contract.ways import Way

CASES: dict[str, Callable[[Way], Any]] = {
    **cases_mean.CASES,
    **cases_ustat.CASES,
    **cases_samples.CASES,
    **cases_compared.CASES,
    **cases_tournament.CASES,
    **cases_learn.CASES,
    **cases_explain.CASES,
    **cases_refused.CASES,
}


def answer(name: str, way: Way) -> dict[str, str]:
    """What the case gives, as texts; of a call that is refused the kind of failure."""
    scratch = Path(tempfile.mkdtemp(dir=way.scratch))
    try:
        with way.set(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return flat(CASES[name](replace(way, scratch=scratch)))
    except dm.DistmomError as error:
        return {"refused": type(error).__name__, "exit_code": str(error.exit_code)}
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
