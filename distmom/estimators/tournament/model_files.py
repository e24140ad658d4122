"""Candidates from files: models that skops wrote, and matrices."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from zipfile import ZipFile

import numpy as np

from distmom.cluster.memory import in_words
from distmom.errors import ConfigError, DataError
from distmom.numerics.arrays import Floats

MODEL_FILE, MATRIX_FILE = ".skops", ".npy"
MOST_BYTES = 256_000_000
"""Of a model: a small file may inflate to any size."""

MODEL_INSTALL = "pip install 'distmom[models]'"


def load_model(path: str) -> Any:
    """A model from a file written by skops, which holds no code.

    DataError if it cannot be read, or names types beyond those that skops trusts.
    """
    try:
        import skops.io
    except ImportError as error:
        raise ConfigError(f"candidate {path!r}: files of models need skops; {MODEL_INSTALL}") from error
    with _reading(path, "model", "skops"), ZipFile(path) as archive:
        inflated = sum(part.file_size for part in archive.infolist())
    if inflated > MOST_BYTES:
        raise DataError(
            f"candidate {path!r} inflates to {in_words(inflated)}, more than {in_words(MOST_BYTES)}; "
            "give its predictions as a column"
        )
    with _reading(path, "model", "skops"):
        unknown = skops.io.get_untrusted_types(file=path)
        if not unknown:
            return skops.io.load(path, trusted=[])
    raise DataError(
        f"candidate {path!r} holds the types {', '.join(map(str, unknown[:3]))}, which are not trusted; save "
        "a plain scikit-learn model, or give its predictions as a column"
    )


@contextmanager
def _reading(path: str, what: str, writer: str) -> Iterator[None]:
    """Turns any error of the reader about a strange file into a DataError."""
    try:
        yield
    except Exception as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise DataError(
            f"candidate {path!r} cannot be read as a {what}: {reason}; write it by {writer}"
        ) from error


def as_matrix(name: str, what: Any) -> Floats:
    """A square matrix, or that of a ``.npy`` file, in which objects are refused.

    Entries on both sides of the diagonal that differ by rounding are averaged.

    DataError if the file cannot be read.
    """
    if isinstance(what, str):
        name, what = what, _load_matrix(what)
    try:
        found = np.asarray(what)
    except ValueError as error:
        raise ConfigError(f"candidates: {name!r} is not a matrix; give rows of equal length") from error
    if found.dtype.kind not in "biuf" or found.ndim != 2 or found.shape[0] != found.shape[1]:
        raise ConfigError(
            f"candidates: {name!r} must be a square matrix of numbers, not {found.dtype} of shape "
            f"{found.shape}"
        )
    matrix = np.array(found, np.float64)
    if np.isfinite(matrix).all() and np.allclose(matrix, matrix.T, rtol=1e-9, atol=0.0):
        matrix = 0.5 * (matrix + matrix.T)
    return matrix


def _load_matrix(path: str) -> Any:
    if not path.endswith(MATRIX_FILE):
        raise ConfigError(f"candidates: {path!r} is not a matrix; name a {MATRIX_FILE} file")
    with _reading(path, "matrix", "numpy.save"):
        # mapped, so that a false header allocates nothing
        return np.load(path, mmap_mode="r", allow_pickle=False)
