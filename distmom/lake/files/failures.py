"""PyArrow's errors about a file as one line that names it."""

from __future__ import annotations

import pyarrow as pa

from distmom.errors import BadFileError, ResourceError
from distmom.lake.messages import first_line
from distmom.lake.source import FileRef

_UNREAD = (
    *("not supported", "unsupported", "implemented"),
    *("deeply nested", "decimal precision out of range", "decimal128::frombigendian"),
)
"""What PyArrow says of features that it does not read."""


def problem(error: Exception, damage: str) -> str:
    """What is wrong with a file: ``damage``, or a feature of the format that PyArrow does not read."""
    words = str(error).lower()
    if "encrypted" in words:
        return f"is encrypted: {first_line(error)}"
    if isinstance(error, pa.ArrowNotImplementedError) or any(word in words for word in _UNREAD):
        return f"cannot be read by pyarrow {pa.__version__}: {first_line(error)}"
    return f"is {damage}: {first_line(error)}"


def named(error: Exception, file: FileRef) -> Exception:
    """One of PyArrow's errors as one line that names the file.

    Errors of the operating system (a disk or a network that fails) stay ``OSError``, with the file's name,
    since trying again may help; PyArrow reports damaged data as ``OSError`` without an error number.
    """
    if isinstance(error, MemoryError):
        return ResourceError(
            f"file {file.path}: there is not enough memory to read it ({first_line(error)}); "
            "use fewer threads, or rewrite the file if it is damaged"
        )
    if isinstance(error, PermissionError):
        return BadFileError(f"file {file.path}: permission denied; allow reading it")
    number = getattr(error, "errno", None)
    if isinstance(error, OSError) and number is not None:
        return type(error)(number, f"file {file.path}: {first_line(error)}")
    if not file.path.endswith((".parquet", ".parq", ".pq")) and _is_no_parquet(error):
        return BadFileError(
            f"file {file.path} is not a Parquet file, by name and content; leave it out with "
            f"exclude={file.path!r}, or move it elsewhere"
        )
    return BadFileError(f"file {file.path} {problem(error, 'damaged or not a Parquet file')}")


def _is_no_parquet(error: Exception) -> bool:
    """Whether PyArrow misses the marks of the format."""
    return "magic bytes" in str(error).lower() or "minimum file footer" in str(error)
