"""Which failures are worth another attempt, and the message for the last one."""

from __future__ import annotations

import errno
import re

from distmom.cluster.plan import Unit
from distmom.cluster.queue import UnitBatch
from distmom.errors import ConfigError, DataError, DistmomError, ResourceError, place_of

# The result would be the same: waiting does not help with a wrong path or a full disk.
_FINAL = (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError)
_FINAL_NUMBERS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.ENAMETOOLONG, errno.EMFILE}


def is_transient(error: BaseException) -> bool:
    """Whether another attempt may succeed: reading failed, but neither the path nor the data is to blame."""
    return isinstance(error, OSError) and not isinstance(error, _FINAL) and error.errno not in _FINAL_NUMBERS


def explain(error: BaseException, unit: Unit | UnitBatch, n_attempts: int) -> DistmomError:
    """The one-line error for what ``unit`` raised; raise it ``from error``."""
    where, what = unit.name, one_line(error)
    if isinstance(error, DistmomError):
        return error
    if isinstance(error, MemoryError):
        return ResourceError(
            f"{where}: out of memory while reading ({what}); use fewer threads or fewer columns"
        )
    if is_transient(error):
        tries = "once" if n_attempts == 1 else f"{n_attempts} times"
        return ResourceError(f"{where}: reading failed {tries} ({what}); check the store and run again")
    if isinstance(error, _FINAL):
        return DataError(f"{where}: cannot be read ({what}); every worker needs access to it")
    if isinstance(error, OSError):
        return ResourceError(f"{where}: {what}; free the resource and run again")
    if isinstance(error.__cause__, ModuleNotFoundError):  # Dask's scheduler unpacks tasks as well
        what = one_line(error.__cause__)
    if "No module named" in what:
        return ResourceError(
            f"{where}: the scheduler or a worker cannot load the task ({what}); "
            "install the client's packages there"
        )
    if place := place_of(error):
        return ConfigError(f"{where}: unexpected {what}, in {place}; correct the function")
    return DistmomError(f"{where}: unexpected {what}")


def killed(unit: Unit | UnitBatch) -> ResourceError:
    """The error if workers died whenever they ran ``unit``, even alone."""
    return ResourceError(
        f"{unit.name}: every worker that read it died, most likely out of memory; "
        "give workers more memory (memory_limit), fewer threads each, or read fewer columns"
    )


def lost(unit: Unit | UnitBatch, n_attempts: int) -> ResourceError:
    """The error if ``unit`` was lost with its workers or scheduler too often."""
    return ResourceError(
        f"{unit.name}: lost {n_attempts} times together with its worker or the scheduler; "
        "check that workers live long enough and run again"
    )


def stuck(trouble: str, patience: float) -> ResourceError:
    """The error if nothing could run for ``patience`` seconds."""
    return ResourceError(
        f"the cluster did not respond for {patience:g} seconds ({trouble}); "
        "check its scheduler and workers, then run again"
    )


def one_line(error: BaseException) -> str:
    """``TypeName: text`` on one line, without credentials of addresses."""
    text = re.sub(r"//[^/@\s]+@", "//***@", " ".join(str(error).split()))
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
