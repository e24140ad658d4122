"""Tables written by the libraries that keep their logs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A SQL catalog called ``local``, as PyIceberg's configuration names it."""
    from pyiceberg.catalog.sql import SqlCatalog

    uri, warehouse = f"sqlite:///{tmp_path}/catalog.db", f"file://{tmp_path}/warehouse"
    monkeypatch.setenv("PYICEBERG_CATALOG__LOCAL__URI", uri)
    monkeypatch.setenv("PYICEBERG_CATALOG__LOCAL__WAREHOUSE", warehouse)
    monkeypatch.setenv("PYICEBERG_HOME", str(tmp_path))
    from pyiceberg import catalog as module
    from pyiceberg.utils.config import Config

    monkeypatch.setattr(module, "_ENV_CONFIG", Config())
    found = SqlCatalog("local", uri=uri, warehouse=warehouse)
    found.create_namespace("shop")
    yield found
    found.close()
