"""The rows of a version of a Delta table, by its commits: the log is read as the protocol says it, in JSON.

Tables with deletion vectors, or whose first commits are gone, are left to other oracles.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote

TYPES = {
    "byte": "tinyint",
    "short": "smallint",
    "integer": "integer",
    "long": "bigint",
    "float": "float",
    "double": "double",
    "boolean": "boolean",
    "string": "varchar",
    "date": "date",
    "timestamp": "timestamptz",
    "timestamp_ntz": "timestamp",
}


def versions(table: Path) -> list[int]:
    """The versions whose commits are there."""
    found = (table / "_delta_log").glob("*.json")
    return sorted(int(file.stem) for file in found if file.stem.isdigit() and len(file.stem) == 20)


def replayed(run: Any, table: Path, version: int) -> str | None:
    """A relation of the live rows of a version; None where the commits alone do not tell them."""
    numbers = [number for number in versions(table) if number <= version]
    if numbers != list(range(version + 1)):
        return None
    live: dict[tuple[str, str], dict[str, Any]] = {}
    metadata: dict[str, Any] = {}
    for number in numbers:
        for line in (table / "_delta_log" / f"{number:020}.json").read_text().splitlines():
            action = json.loads(line) if line.strip() else {}
            if "metaData" in action:
                metadata = action["metaData"]
            if "remove" in action:
                live.pop(_key(action["remove"]), None)
            if "add" in action:
                live[_key(action["add"])] = action["add"]
    if not metadata or not live or any(add.get("deletionVector") for add in live.values()):
        return None
    run.execute(f"create or replace temp view replayed as {_union(run, table, metadata, live)}")
    return "replayed"


def _key(action: dict[str, Any]) -> tuple[str, str]:
    return action["path"], json.dumps(action.get("deletionVector"), sort_keys=True)


def _union(run: Any, table: Path, metadata: dict[str, Any], live: dict[tuple[str, str], Any]) -> str:
    fields = json.loads(metadata["schemaString"])["fields"]
    mapped = metadata.get("configuration", {}).get("delta.columnMapping.mode", "none") != "none"
    partitions = metadata.get("partitionColumns", [])
    parts = []
    for (path, _), add in live.items():
        file = table / unquote(path)
        source = f"read_parquet({_text(str(file))}, hive_partitioning = false)"
        held = {row[0] for row in run.execute(f"describe select * from {source}").fetchall()}
        chosen = []
        for field in fields:
            name = field["name"]
            stored = field["metadata"]["delta.columnMapping.physicalName"] if mapped else name
            type_ = field["type"]
            if not isinstance(type_, str) or (type_ not in TYPES and not type_.startswith("decimal")):
                continue
            if name in partitions:
                value = add["partitionValues"].get(stored)
                text = "null" if value in (None, "") else _text(value)
            else:
                text = _name(stored) if stored in held else "null"
            chosen.append(f"cast({text} as {TYPES.get(type_, type_)}) as {_name(name)}")
        parts.append(f"select {', '.join(chosen)} from {source}")
    return " union all ".join(parts)


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _name(value: str) -> str:
    return '"' + value.replace('"', '""') + '"'
