"""What distmom says of a file or table, and what PyArrow can read of it; each in a process of its own."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.benchmarks.foreign.questions import Question, answer

Tell = Callable[[Any], None]


def answers(tell: Tell, data: str, questions: Sequence[Question]) -> None:
    """Tell the rows that `distmom.describe` counts, then each question: ``(how, answer or why)``."""
    warnings.simplefilter("ignore")
    tell(_ended(lambda: _described(data)))
    for question in questions:
        tell(_ended(lambda q=question: answer(data, q)))  # type: ignore[misc]


def _described(data: str) -> dict[str, int]:
    import distmom as dm

    return {one.column: one.n_used for one in dm.describe(data)}


def _ended(call: Callable[[], Any]) -> tuple[str, Any]:
    import distmom as dm

    try:
        return "answered", call()
    except dm.NoAnswerError as error:
        return "no answer", str(error)
    except dm.DistmomError as error:
        return "failure" if error.exit_code == 1 else "refused", str(error)
    except MemoryError as error:
        return "memory", str(error)
    except BaseException as error:
        return "failure", f"{type(error).__name__}: {error}"


def readable(tell: Tell, path: Path, version: int | None) -> None:
    """Tell the columns that PyArrow reads to their end; last None where it reads all at once."""
    import pyarrow.parquet as pq

    if version is not None:
        _readable_of_table(tell, path, version)
        return
    try:
        file = pq.ParquetFile(path, page_checksum_verification=True)
    except Exception:
        return
    names = [field.name for field in file.schema_arrow]
    groups = list(range(file.num_row_groups))
    for name in names:
        positions = [
            i
            for i in range(file.metadata.num_columns)
            if file.schema.column(i).path.split(".")[0] == name and names.count(name) == 1
        ]
        if _reads(file, groups, positions):
            tell(name)
    if _reads(file, groups, list(range(file.metadata.num_columns))):
        tell(None)


def _readable_of_table(tell: Tell, path: Path, version: int) -> None:
    """As `readable`, of the dataset that deltalake makes of a version for PyArrow."""
    from deltalake import DeltaTable

    try:
        rows = DeltaTable(path, version=version).to_pyarrow_dataset()
    except BaseException:  # a panic in Rust is no Exception
        return
    for chosen in [*([name] for name in rows.schema.names), None]:
        try:
            for _ in rows.to_batches(columns=chosen):
                pass
        except Exception:
            continue
        tell(chosen and chosen[0])


def _reads(file: Any, groups: list[int], positions: list[int]) -> bool:
    try:
        for _ in file.reader.iter_batches(65_536, groups, positions):
            pass
    except Exception:
        return False
    return True
