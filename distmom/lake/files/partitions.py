"""Columns that come from folder names of the form ``key=value``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal
from typing import NamedTuple
from urllib.parse import unquote

import pyarrow as pa

from distmom.errors import DataError
from distmom.lake.columns.convert import one_value
from distmom.lake.columns.schema import PARTITION_TYPES
from distmom.lake.source import PartitionType

NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"

_CANONICAL_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}")
EXACT = Context(prec=76)
_EPOCH = date(1970, 1, 1).toordinal()

Pairs = tuple[tuple[str, str | None], ...]


def parse_folders(path: str, name: str) -> Pairs:
    """Keys and values of the folders above a file, outermost first; other folders are passed over.

    DataError if a key occurs twice.

    Parameters
    ----------
    path : str
        Of the file below the listing's root, still percent-encoded.
    name : str
        How messages call it.
    """
    pairs: dict[str, str | None] = {}
    for folder in path.split("/")[:-1]:
        key, equals, value = folder.partition("=")
        if not equals or not key:
            continue
        key = unquote(key)
        if key in pairs:
            raise DataError(
                f"file {name}: its folders give the partition key {key!r} twice; rename one of them"
            )
        pairs[key] = None if value == NULL_FOLDER else unquote(value)
    return tuple(pairs.items())


class Aligned(NamedTuple):
    """Keys, values of each file, and why there are none where files have different keys."""

    names: tuple[str, ...]
    rows: list[tuple[str | None, ...]]
    problem: str = ""


def align(found: Iterable[tuple[str, Pairs]]) -> Aligned:
    """Bring the pairs of all files into one order of keys, that of the first file.

    Parameters
    ----------
    found : iterable of (file name, pairs)
        In the order of the listing.

    """
    names: tuple[str, ...] = ()
    first_file: str | None = None
    rows: list[tuple[str | None, ...]] = []
    files = list(found)
    for file, pairs in files:
        values = dict(pairs)
        if first_file is None:
            names, first_file = tuple(values), file
        if values.keys() == set(names):
            rows.append(tuple(values[key] for key in names))
        else:
            keys = tuple(values)
            problem = (
                f"partition keys differ: {_show(names)} in {first_file} but {_show(keys)} in {file}; "
                "give the folders of one kind only"
            )
            return Aligned((), [() for _ in files], problem)
    return Aligned(names, rows)


def infer_types(rows: Sequence[tuple[str | None, ...]]) -> tuple[PartitionType, ...]:
    """Type of each key: text, unless all its values are canonical integers.

    ``"0"``, ``"-5"`` and ``"12"`` are canonical; ``"07"`` and ``"+1"`` are not, since turning them into
    numbers would lose what was written.
    """
    values = [{value for value in column if value is not None} for column in zip(*set(rows), strict=True)]
    return tuple("int" if found and all(map(_is_canonical, found)) else "text" for found in values)


def folder_value(text: str | None, kind: PartitionType) -> pa.Array:
    """Value of a partition column, as an array of one."""
    value: int | float | str | bool | None = text
    if text is not None and kind == "date":  # days since 1970
        value = date.fromisoformat(text).toordinal() - _EPOCH
    elif text is not None and kind in ("timestamp", "zoned"):
        moment = datetime.fromisoformat(text)
        since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - datetime(1970, 1, 1, tzinfo=UTC)
        value = since // timedelta(microseconds=1)
    elif text is not None and kind == "decimal":
        number = Decimal(text)
        scale = max(0, -int(number.as_tuple().exponent))
        return one_value(int(number.scaleb(scale, EXACT)), pa.decimal128(38, scale))
    elif text is not None and kind != "text":
        value = text == "true" if kind == "bool" else float(text) if kind == "float" else int(text)
    return one_value(value, PARTITION_TYPES[kind])


def _is_canonical(value: str) -> bool:
    return _CANONICAL_INTEGER.fullmatch(value) is not None and -(2**63) <= int(value) < 2**63


def _show(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names)) or "none"
