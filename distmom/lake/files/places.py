"""From the names of data to filesystems and paths."""

from __future__ import annotations

import os
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

import pyarrow.fs as pafs

from distmom.errors import ConfigError
from distmom.lake.files.stores import address_of, open_store

_OTHER_STORES = {"adl", "wasb", "wasbs", "hdfs", "http", "https"}


def store_of(
    names: list[str], storage_options: Mapping[str, object] | None
) -> tuple[pafs.FileSystem, str, list[str]]:
    """The filesystem of all items, what stands before its paths, and these."""
    addresses = [address_of(name) for name in names]
    first = addresses[0]
    if first is None:
        other = next((name for name, address in zip(names, addresses, strict=True) if address), None)
        if other is not None:
            raise ConfigError(f"data: {names[0]} is local but {other} is not; read them one after the other")
        if storage_options:
            raise ConfigError(f"storage_options: {names[0]} is not in an object store; drop them")
        return pafs.LocalFileSystem(), "", [local_path(name) for name in names]
    paths = []
    for name, address in zip(names, addresses, strict=True):
        if address is None or (address.kind, address.account) != (first.kind, first.account):
            raise ConfigError(f"data: {names[0]} and {name} are in two stores; read them one after the other")
        if address.path.partition("/")[0] != first.path.partition("/")[0]:
            raise ConfigError(
                f"data: {names[0]} and {name} are in two buckets; read them one after the other"
            )
        paths.append(address.path)
    return open_store(first, storage_options), first.prefix, paths


def local_path(name: str) -> str:
    """Absolute local path of a name or ``file://`` URL."""
    scheme, separator, _ = name.partition("://")
    if separator and scheme.lower() in _OTHER_STORES:
        raise ConfigError(
            f"{scheme}:// is not supported (s3://, gs:// and abfs:// are); "
            f"copy {name} to a local or shared disk"
        )
    if separator and scheme.lower() == "file":
        parts = urlsplit(name)
        if parts.netloc not in ("", "localhost"):
            raise ConfigError(f"{name}: a file:// URL must be local (file:///folder/…)")
        name = unquote(parts.path)
    return os.path.abspath(os.path.expanduser(name)).replace(os.sep, "/")  # noqa: PTH100, PTH111 (keeps symlinks)


def has_wildcard(path: str) -> bool:
    """Whether a path holds a wildcard."""
    return any(mark in path for mark in "*?[")
